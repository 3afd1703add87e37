#include "paceline/launch/environment.h"

#include "paceline/base/error.h"

#include <charconv>

#include <unistd.h>

namespace paceline::launch {

Environment Environment::of_process() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos)
      environment.set(text.substr(0, equals), std::string(text.substr(equals + 1)));
  }
  return environment;
}

std::optional<std::string> Environment::get(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::string Environment::get_or(std::string_view name, std::string_view fallback) const {
  return get(name).value_or(std::string(fallback));
}

std::optional<int> Environment::get_int(std::string_view name, int low, int high) const {
  const auto text = get(name);
  if (!text) return std::nullopt;
  return parse_int(fmt::format("environment variable {}", name), *text, low, high);
}

std::optional<double> Environment::get_seconds(std::string_view name, double low) const {
  const auto text = get(name);
  if (!text) return std::nullopt;
  return parse_seconds(fmt::format("environment variable {}", name), *text, low);
}

void Environment::set(std::string_view name, std::string value) {
  variables_.insert_or_assign(std::string(name), std::move(value));
}

void Environment::set_default(std::string_view name, std::string value) {
  if (!has(name)) set(name, std::move(value));
}

std::vector<std::string> Environment::entries() const {
  std::vector<std::string> result;
  result.reserve(variables_.size());
  for (const auto& [name, value] : variables_) result.push_back(fmt::format("{}={}", name, value));
  return result;
}

int parse_int(std::string_view what, std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= low && value <= high)
    return value;
  throw base::ConfigError(fmt::format("{} must be a whole number from {} to {}, but it is \"{}\"",
                                      what, low, high, text));
}

double parse_seconds(std::string_view what, std::string_view text, double low) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= low && value <= 1e6)
    return value;
  throw base::ConfigError(fmt::format(
      "{} must be a number of seconds from {} to 1000000, but it is \"{}\"", what, low, text));
}

}  // namespace paceline::launch
