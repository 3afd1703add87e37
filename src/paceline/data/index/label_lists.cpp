#include "paceline/data/index/label_lists.h"

#include <charconv>

#include <fmt/ranges.h>

namespace paceline::data {
namespace {

/// Stands between the name of a sample and its list of labels.
constexpr char kBeforeLabels = '\x1f';

}  // namespace

std::string name_with_labels(std::string_view name, std::span<const std::int64_t> labels) {
  return fmt::format("{}{}{}", name, kBeforeLabels, fmt::join(labels, ","));
}

NameAndLabels name_and_labels(std::string_view text) {
  const std::size_t end = text.rfind(kBeforeLabels);
  if (end == text.npos) return {text, std::nullopt};
  NameAndLabels parts{text.substr(0, end), std::vector<std::int64_t>()};
  const char* next = text.data() + end + 1;
  const char* const stop = text.data() + text.size();
  while (next < stop) {
    std::int64_t label = 0;
    const auto [behind, error] = std::from_chars(next, stop, label);
    if (error != std::errc()) break;
    parts.labels->push_back(label);
    if (behind == stop) break;
    next = behind + 1;  // a comma
  }
  return parts;
}

}  // namespace paceline::data
