#include "paceline/config/type_info.h"

#include "paceline/base/text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace paceline::config::detail {
namespace {

std::string expected(std::string_view what, const Node& node) {
  return fmt::format("must be {}, got {}", what, node.describe());
}

// A bare scalar as a number: 1, -2.5, 1e-4, 1_000, .inf.
std::optional<double> parse_number(const Node& node) {
  if (!node.is_scalar() || node.is_quoted) return std::nullopt;
  std::string digits = node.text;
  if (digits == ".inf" || digits == "+.inf") return std::numeric_limits<double>::infinity();
  if (digits == "-.inf") return -std::numeric_limits<double>::infinity();
  std::erase(digits, '_');
  if (digits.starts_with('+')) digits.erase(0, 1);
  // from_chars would also take "inf" and "nan", which YAML spells otherwise.
  if (digits.find_first_of("nN") != digits.npos) return std::nullopt;
  double number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return number;
}

std::optional<std::int64_t> parse_integer(const Node& node) {
  if (!node.is_scalar() || node.is_quoted) return std::nullopt;
  std::string digits = node.text;
  std::erase(digits, '_');
  if (digits.starts_with('+')) digits.erase(0, 1);
  std::int64_t integer = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, integer);
  if (error == std::errc{} && stop == end) return integer;
  // 1.2e6 is a whole number too; beyond 2^53 a double no longer says which.
  const std::optional<double> number = parse_number(node);
  if (!number || *number != std::floor(*number) || std::abs(*number) > 0x1.0p53)
    return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

}  // namespace

Complaint read_bool(const Node& node, bool& value) {
  if (!node.is_scalar() || node.is_quoted || (node.text != "true" && node.text != "false")) {
    return expected("true or false", node);
  }
  value = node.text == "true";
  return std::nullopt;
}

Complaint read_integer(const Node& node, std::int64_t lowest, std::int64_t highest,
                       std::int64_t& value) {
  const std::optional<std::int64_t> integer = parse_integer(node);
  if (!integer) return expected("an integer", node);
  if (*integer < lowest || *integer > highest) {
    return expected(fmt::format("an integer between {} and {}", lowest, highest), node);
  }
  value = *integer;
  return std::nullopt;
}

Complaint read_number(const Node& node, double& value) {
  const std::optional<double> number = parse_number(node);
  if (!number) return expected("a number", node);
  value = *number;
  return std::nullopt;
}

Complaint read_string(const Node& node, std::string& value) {
  constexpr std::size_t kLongest = 4096;  // of a path
  if (!node.is_scalar()) return expected("text", node);
  if (node.text.find_first_of("\n\t") != std::string::npos || node.text.size() > kLongest) {
    return expected(fmt::format("one line of text of at most {} bytes", kLongest), node);
  }
  value = node.text;
  return std::nullopt;
}

Complaint read_choice(const Node& node, std::span<const std::string> names, std::size_t& index) {
  const auto found =
      node.is_scalar() ? std::find(names.begin(), names.end(), node.text) : names.end();
  if (found != names.end()) {
    index = static_cast<std::size_t>(found - names.begin());
    return std::nullopt;
  }
  const std::string nearest = node.is_scalar() ? base::nearest_name(node.text, names) : "";
  return expected(fmt::format("one of {}", base::join(names, ", ")), node) +
         (nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest));
}

Complaint read_duration(const Node& node, Duration& value) {
  if (!node.is_scalar()) return expected("a duration such as 90ep", node);
  try {
    value = Duration::parse(node.text);
    return std::nullopt;
  } catch (const base::ConfigError& error) {
    return error.what();
  }
}

Complaint read_duration_list(const Node& node, DurationList& value) {
  DurationList durations;
  const std::vector<Node> items = node.is_list() ? node.items : std::vector<Node>{node};
  for (const Node& item : items) {
    if (auto complaint = read_duration(item, durations.any_of.emplace_back())) return complaint;
  }
  value = std::move(durations);
  return std::nullopt;
}

Complaint read_sections(const Node& node, Sections& value) {
  constexpr std::string_view kExpected = "names with a section each, in order";
  if (!node.is_map() && !node.is_null()) return expected(kExpected, node);
  for (const MapEntry& entry : node.entries) {
    if (!entry.value.is_map() && !entry.value.is_null())
      return fmt::format("{} {}", entry.key, expected(kExpected, entry.value));
  }
  value.entries = node.entries;
  return std::nullopt;
}

Complaint read_sides(const Node& node, Sides& value) {
  constexpr std::int64_t kLongest = std::numeric_limits<int>::max();
  const std::vector<Node> items = node.is_list() ? node.items : std::vector<Node>{node};
  Sides sides;
  sides.lengths.clear();
  for (const Node& item : items) {
    std::int64_t length = 0;
    if (read_integer(item, 0, kLongest, length))
      return expected("an integer, or a list of one for each axis such as [96, 128]", node);
    sides.lengths.push_back(static_cast<int>(length));
  }
  if (sides.lengths.empty())
    return expected("an integer, or a list of one for each axis such as [96, 128]", node);
  value = std::move(sides);
  return std::nullopt;
}

Node write_bool(bool value) { return Node::scalar(value ? "true" : "false"); }

Node write_integer(std::int64_t value) { return Node::scalar(fmt::format("{}", value)); }

Node write_number(double value) {
  if (std::isinf(value)) return Node::scalar(value < 0 ? "-.inf" : ".inf");
  std::string text = fmt::format("{}", value);
  const std::size_t exponent = text.find('e');
  if (exponent != text.npos && text.find('.') == text.npos)
    text.insert(exponent, ".0");  // to readers of YAML 1.1 1e-08 is text
  return Node::scalar(std::move(text));
}

Node write_sides(const Sides& value) {
  if (value.is_one()) return write_integer(value.lengths.front());
  Node list = Node::list();
  for (const int length : value.lengths) list.items.push_back(write_integer(length));
  return list;
}

Node write_duration_list(const DurationList& value) {
  if (value.any_of.size() == 1) return Node::scalar(value.any_of[0].to_string());
  Node list = Node::list();
  for (const Duration& duration : value.any_of)
    list.items.push_back(Node::scalar(duration.to_string()));
  return list;
}

Node write_sections(const Sections& value) {
  Node node = Node::map();
  node.entries = value.entries;
  return node;
}

}  // namespace paceline::config::detail
