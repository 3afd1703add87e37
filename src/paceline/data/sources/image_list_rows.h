#pragma once

#include "paceline/data/index/listing_progress.h"
#include "paceline/data/sources/image_list.h"
#include "paceline/data/sources/image_list_columns.h"
#include "paceline/data/storage/input_file.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// The rows of a list of images as they stand there, with as little memory as that takes.
class ImageListRows {
 public:
  /// Reads the file from its start to its end. Throws DataError that names it and the line,
  /// ConfigError, Interrupted.
  ImageListRows(const InputFile& file, const ImageListConfig& config, ListingProgress& progress);

  std::size_t size() const { return rows_.size(); }
  /// Whether a column says what rows are for; else each is RowPart::kTraining.
  bool has_parts() const { return !parts_.empty(); }
  RowPart part(std::size_t row) const;
  std::string_view path(std::size_t row) const;
  std::int64_t line(std::size_t row) const { return rows_[row].line; }
  /// Places in label_texts(). Without a delimiter there is one, which may be of an empty text.
  std::span<const std::int32_t> labels(std::size_t row) const;
  /// Every label that a row has, once, in the order in which they are met.
  const std::vector<std::string>& label_texts() const { return label_texts_; }
  const std::string& file() const { return file_; }

 private:
  struct Row {
    std::size_t path_end = 0;
    std::size_t labels_end = 0;
    std::int64_t line = 0;
    std::int32_t split = 0;  ///< place in the texts of that column
  };
  class TextNumbers;
  class Reader;

  std::string file_;
  std::string paths_;
  std::vector<std::int32_t> labels_;
  std::vector<std::string> label_texts_;
  std::vector<Row> rows_;
  std::vector<RowPart> parts_;  ///< by the texts of the column
};

}  // namespace paceline::data
