#pragma once

#include "paceline/data/sources/image_list.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

/// Places of a list's columns.
struct ImageListColumns {
  std::size_t path = 0;
  std::size_t label = 0;
  std::optional<std::size_t> split;
};

/// The columns that a Config names, and else those with usual names. Throws DataError that names
/// `file` and its columns.
ImageListColumns find_columns(std::span<const std::string> names, const ImageListConfig& config,
                              const std::string& file);

/// What a row is for.
enum class RowPart { kTraining, kValidation, kUnused };

/// A text of the column that says what rows are for, and where it is met first.
struct SplitText {
  std::string text;
  std::int64_t line = 0;
};

/// What rows with each of these texts are for. Throws DataError that names `file` and the line for
/// a text that says nothing, ConfigError where data.val_split does not choose among them.
std::vector<RowPart> parts_of(std::span<const SplitText> texts, const std::string& column,
                              const std::string& val_split, const std::string& file);

}  // namespace paceline::data
