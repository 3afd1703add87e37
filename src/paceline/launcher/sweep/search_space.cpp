#include "paceline/launcher/sweep/search_space.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/secret.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace paceline::launcher {
namespace {

constexpr std::string_view kDraws = "log(LOW,HIGH), uniform(LOW,HIGH) or int(LOW,HIGH)";

/// At the commas that stand in no bracket and no quotes.
std::vector<std::string> split_values(std::string_view text) {
  std::vector<std::string> values(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{' || c == '(') {
      ++depth;
    } else if (c == ']' || c == '}' || c == ')') {
      --depth;
    }
    if (c == ',' && depth == 0 && quote == 0) {
      values.emplace_back();
    } else {
      values.back() += c;
    }
  }
  for (std::string& value : values) value = std::string(base::trim(value));
  return values;
}

/// "log" of "log(1e-4,1e-1)"; empty for anything else.
std::string_view function_name(std::string_view text) {
  const std::size_t open = text.find('(');
  if (open == std::string_view::npos || open == 0 || !text.ends_with(')')) return {};
  const std::string_view name = text.substr(0, open);
  const auto is_letter = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  return std::ranges::all_of(name, is_letter) ? name : std::string_view();
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

AxisKind kind_of(const Axis& axis, std::string_view name) {
  if (name == "log") return AxisKind::kLog;
  if (name == "uniform") return AxisKind::kUniform;
  if (name == "int") return AxisKind::kInt;
  const std::string_view advice =
      name == "choice"                                ? "write the values with commas between them"
      : name == "loguniform" || name == "log_uniform" ? "write log(LOW,HIGH)"
      : name == "randint" || name == "range" || name == "int_uniform"
          ? "write int(LOW,HIGH), or the values with commas between them"
          : "";
  throw base::ConfigError(
      fmt::format("{}={}: there is no draw '{}'; {}", axis.key, axis.text, name,
                  advice.empty() ? fmt::format("expected {}", kDraws) : std::string(advice)));
}

void read_draw(Axis& axis, std::string_view name) {
  axis.kind = kind_of(axis, name);
  const std::string_view inner =
      std::string_view(axis.text).substr(name.size() + 1, axis.text.size() - name.size() - 2);
  const std::vector<std::string> ends = split_values(inner);
  const auto refuse = [&](std::string_view expected) {
    throw base::ConfigError(fmt::format("{}={}: expected {}", axis.key, axis.text, expected));
  };
  const std::optional<double> low = number_of(ends[0]);
  const std::optional<double> high = ends.size() == 2 ? number_of(ends[1]) : std::nullopt;
  if (!low || !high) refuse(fmt::format("{} with two numbers", kDraws));
  axis.low = *low;
  axis.high = *high;
  if (axis.low >= axis.high) refuse("a first number below the second");
  if (axis.kind == AxisKind::kLog && axis.low <= 0) refuse("numbers above 0, as it is a logarithm");
  constexpr double kMost = 1e15;  // whole numbers that a double holds
  const bool is_whole = axis.low == std::floor(axis.low) && axis.high == std::floor(axis.high);
  if (axis.kind == AxisKind::kInt &&
      (!is_whole || std::fabs(axis.low) > kMost || axis.high > kMost))
    refuse("whole numbers of at most 1e15");
}

void read_list(Axis& axis, std::vector<std::string> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].empty())
      throw base::ConfigError(
          fmt::format("{}={}: a value between the commas is empty; null stands "
                      "for none",
                      axis.key, axis.text));
    if (std::find(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(i), values[i]) !=
        values.begin() + static_cast<std::ptrdiff_t>(i))
      throw base::ConfigError(
          fmt::format("{}={}: the value {} stands there twice", axis.key, axis.text, values[i]));
  }
  axis.values = std::move(values);
}

/// Without the marks of an override.
std::string_view key_of(std::string_view override) {
  const std::string_view key = override.substr(0, override.find('='));
  return key.substr(std::min(key.find_first_not_of("+~"), key.size()));
}

/// Before a message, or a file of the sweep, repeats it.
void refuse_secret(const std::string& override) {
  const std::size_t equals = std::min(override.find('='), override.size() - 1);
  config::refuse_secret(key_of(override), std::string_view(override).substr(equals + 1));
}

/// Nothing for an override that is the same for all trials.
std::optional<Axis> axis_of(const std::string& override) {
  const std::size_t equals = override.find('=');
  if (equals == std::string::npos || override.starts_with('~')) return std::nullopt;
  Axis axis{.key = override.substr(0, equals), .text = override.substr(equals + 1)};
  const std::string_view name = function_name(axis.text);
  std::vector<std::string> values = split_values(axis.text);
  if (values.size() > 1) {
    read_list(axis, std::move(values));
  } else if (!name.empty()) {
    read_draw(axis, name);
  } else {
    return std::nullopt;
  }
  return axis;
}

void refuse_fixed_axes(const SearchSpace& space) {
  for (const Axis& axis : space.axes) {
    for (const std::string& fixed : space.fixed) {
      if (key_of(fixed) == key_of(axis.key))
        throw base::ConfigError(fmt::format("{}={} varies what {} fixes: leave one of them out",
                                            axis.key, axis.text, fixed));
    }
  }
}

}  // namespace

bool SearchSpace::has_draws() const { return std::ranges::any_of(axes, &Axis::is_drawn); }

SearchSpace parse_search_space(std::span<const std::string> overrides) {
  SearchSpace space;
  for (const std::string& override : overrides) {
    refuse_secret(override);
    std::optional<Axis> axis = axis_of(override);
    if (!axis) {
      space.fixed.push_back(override);
      continue;
    }
    if (std::ranges::find(space.axes, axis->key, &Axis::key) != space.axes.end())
      throw base::ConfigError(
          fmt::format("{} is varied twice: write all its values once", axis->key));
    space.axes.push_back(*std::move(axis));
  }
  refuse_fixed_axes(space);
  return space;
}

}  // namespace paceline::launcher
