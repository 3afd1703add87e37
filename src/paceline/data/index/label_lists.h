#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// What an index keeps as the name of a sample that has a list of labels: both in one text.
std::string name_with_labels(std::string_view name, std::span<const std::int64_t> labels);

struct NameAndLabels {
  std::string_view name;                            ///< a part of the text that was given
  std::optional<std::vector<std::int64_t>> labels;  ///< if there is a list behind the name
};

/// The two parts of such a text, or of a name alone.
NameAndLabels name_and_labels(std::string_view text);

}  // namespace paceline::data
