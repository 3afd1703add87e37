#include "paceline/app/recipe/foreign_names.h"

#include "paceline/app/recipe/foreign_table.h"
#include "paceline/base/text.h"
#include "paceline/config/secret.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include <fmt/format.h>

namespace paceline::app {
namespace {

using config::ComponentCatalog;
using config::MapEntry;
using config::Node;

std::string normalized(std::string_view name) {
  while (name.starts_with('-')) name.remove_prefix(1);
  std::string result = base::to_lower(name);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

std::string last_part(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return normalized(dot == key.npos ? key : key.substr(dot + 1));
}

std::optional<std::string> translate_value(std::string_view key, std::string_view value) {
  const std::string part = last_part(key);
  for (const ForeignValue& candidate : foreign_values()) {
    if ((candidate.key == part || candidate.key == key) &&
        candidate.foreign == base::to_lower(value))
      return std::string(candidate.ours);
  }
  return std::nullopt;
}

// Both readings of a batch size of which we do not know whether it counts one rank or all.
std::string batch_size_advice(const std::string& value, int world_size) {
  const auto size =
      std::find_if_not(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool is_number = !value.empty() && value.size() < 10 && size == value.end();
  const std::string shown = is_number ? value : "N";
  std::string global = "samples per step over all ranks";
  std::string per_rank = "samples per step on each rank";
  if (is_number && world_size > 0) {
    const long long number = std::stoll(value);
    global = fmt::format("{} samples per step, {} on each of {} ranks", number,
                         number % world_size == 0 ? fmt::format("{}", number / world_size)
                                                  : fmt::format("{} or {}", number / world_size,
                                                                number / world_size + 1),
                         world_size);
    per_rank = fmt::format("{} on each of {} ranks, {} samples per step", number, world_size,
                           number * world_size);
  }
  return fmt::format("write data.global_batch_size={} ({}) or data.batch_size_per_rank={} ({})",
                     shown, global, shown, per_rank);
}

/// The text with what was given in the place of "{}".
std::string filled(std::string_view text, std::string_view given) {
  std::string result(text);
  if (const std::size_t place = result.find("{}"); place != result.npos)
    result.replace(place, 2, given);
  return result;
}

/// "lr=0.1" for a shell; algorithms are added.
std::string assignment(std::string_view key, std::string_view value) {
  const bool is_algorithm = key.starts_with("algorithms.");
  const bool is_field = is_algorithm && std::ranges::count(key, '.') > 1;
  const std::string text = fmt::format("{}{}={}",
                                       is_field       ? "++"
                                       : is_algorithm ? "+"
                                                      : "",
                                       key, value);
  return value.starts_with('{') ? fmt::format("'{}'", text) : text;
}

std::string advice_of(const ForeignName& found, const std::string& value) {
  const std::string given =
      value.empty() ? "VALUE" : translate_value(found.key, value).value_or(value);
  if (found.key.empty()) return filled(found.remark, given);
  const std::string shown = filled(found.value, given);
  std::string advice;
  if (found.key.starts_with("--")) {
    const bool has_value = found.key != "--fast-dev-run" && found.key != "--dry-run";
    advice = fmt::format("write {}{}", found.key,
                         has_value ? " " + (shown.empty() ? given : shown) : "");
  } else if (found.key.find('.') == found.key.npos) {
    advice = fmt::format("write {}", found.key);
  } else {
    advice = fmt::format("write {}", assignment(found.key, shown.empty() ? given : shown));
  }
  if (!found.remark.empty()) advice += fmt::format(" ({})", found.remark);
  return advice;
}

/// NaN, which no comparison holds for, if the text is no number.
double number_of(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  const bool is_number = parsed.ec == std::errc() && parsed.ptr == end;
  return is_number ? number : std::numeric_limits<double>::quiet_NaN();
}

/// Whether a number that is given to a component as a whole must be its first option's.
bool leads_with_number(const config::StructInfo& info) {
  return !info.fields.empty() && info.fields.front().type->kind == config::TypeKind::kNumber;
}

// mixup, sam 0.1, use_ema, no_cutmix, mixup_alpha: algorithms are added and removed by name.
std::optional<std::string> algorithm_advice(const std::string& name, const std::string& value,
                                            const ComponentCatalog& algorithms) {
  for (const auto& [algorithm, entry] : algorithms.entries()) {
    if (name == "no_" + algorithm) return fmt::format("write ~algorithms.{}", algorithm);
    if (name == algorithm && !std::isnan(number_of(value)) && leads_with_number(*entry.info))
      return fmt::format("write +algorithms.{}.{}={}", algorithm, entry.info->fields.front().name,
                         value);
    if (name == algorithm || name == "use_" + algorithm)
      return fmt::format("write +algorithms.{}", algorithm);
    if (!name.starts_with(algorithm + "_")) continue;
    const std::string field = name.substr(algorithm.size() + 1);
    if (entry.info->find(field) != nullptr) {
      return fmt::format("write +algorithms.{}.{}={}", algorithm, field,
                         value.empty() ? "VALUE" : value);
    }
  }
  return std::nullopt;
}

bool fits(GivenValue when, const Node& value) {
  const double number = number_of(value.is_scalar() ? value.text : "");
  const bool is_whole = value.text.find_first_not_of("0123456789") == std::string::npos;
  switch (when) {
    case GivenValue::kAny:
      return true;
    case GivenValue::kZero:
      return number == 0;
    case GivenValue::kShare:
      return !is_whole && number > 0 && number <= 1;
    case GivenValue::kWhole:
      return is_whole && number > 0;
    case GivenValue::kAboveZero:
      return number > 0;
    case GivenValue::kMap:
      return value.is_map();
    case GivenValue::kOverride:
      return value.text.find('=') != std::string::npos;
  }
  return false;
}

/// Hydra's 0.1,0.2
bool is_sweep(std::string_view value) {
  const bool is_list = value.find(',') != value.npos && value.find_first_of("[]{}") == value.npos;
  return is_list && value.find_first_not_of("0123456789.,e-+") == value.npos;
}

std::optional<std::string> advice_for(const std::string& name, const Node& given,
                                      const ComponentCatalog* algorithms, int world_size);

/// For another trainer's section: what to write for the keys in it that are known.
std::optional<std::string> advice_inside(const Node& section, int world_size) {
  std::string text;
  for (const MapEntry& entry : section.entries) {
    const auto advice = advice_for(normalized(entry.key), entry.value, nullptr, world_size);
    if (advice) text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", entry.key, *advice);
  }
  return text.empty() ? std::nullopt : std::optional(text);
}

std::optional<std::string> advice_for(const std::string& name, const Node& given,
                                      const ComponentCatalog* algorithms, int world_size) {
  if (config::is_secret(name, "")) return std::string(config::secret_advice());
  const std::string value = given.is_scalar() ? base::excerpt(given.text) : "";
  if (name == "batch_size" || name == "b") return batch_size_advice(value, world_size);
  const auto found = std::ranges::find_if(foreign_names(), [&](const ForeignName& candidate) {
    return candidate.name == name && fits(candidate.when, given);
  });
  const bool is_of_value = found != foreign_names().end() && found->when != GivenValue::kAny;
  if (algorithms != nullptr && !is_of_value) {
    if (auto advice = algorithm_advice(name, value, *algorithms)) return advice;
  }
  auto inside = given.is_map() ? advice_inside(given, world_size) : std::nullopt;
  if (found == foreign_names().end()) return inside;
  if (found->key.find('.') != std::string_view::npos && is_sweep(value))
    return "write paceline sweep RECIPE key=a,b";
  return advice_of(*found, value) + (inside ? "; " + *inside : "");
}

}  // namespace

std::optional<std::string> KnownForeignNames::key_advice(std::string_view section,
                                                         std::string_view key, const Node& value,
                                                         int world_size) const {
  const std::string name = normalized(key);
  // `lr` in the section `optimizer` would be told to write what it already is.
  for (const ForeignName& candidate : foreign_names()) {
    if (candidate.name == name && candidate.key == config::join_path(section, key))
      return std::nullopt;
  }
  return advice_for(name, value, &algorithms_, world_size);
}

std::optional<std::string> KnownForeignNames::translate(std::string_view key,
                                                        std::string_view value) const {
  return translate_value(key, value);
}

std::optional<std::string> KnownForeignNames::option_advice(std::string_view option,
                                                            std::string_view value,
                                                            int world_size) const {
  const std::size_t equals = option.find('=');
  if (equals != option.npos) value = option.substr(equals + 1);
  // The next option is not this one's value.
  if (value.starts_with("--")) value = "";
  const Node given = value.empty() ? Node() : Node::scalar(std::string(value));
  return advice_for(normalized(option.substr(0, equals)), given, &algorithms_, world_size);
}

}  // namespace paceline::app
