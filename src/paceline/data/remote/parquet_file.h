#pragma once

#include "paceline/data/storage/input_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// A damaged page may claim anything; writers stay below 20,000 rows or so.
inline constexpr std::int32_t kMaxParquetPageRows = 1 << 24;

/// The columns of an image data set, by their names in the Parquet schema. A file without a column
/// of the usual name may have another one in its place, if it is clear which.
struct ParquetColumns {
  static constexpr std::string_view kUsualImage = "image";
  static constexpr std::string_view kUsualLabel = "label";

  std::string image;  ///< bytes, or a struct of `bytes` and maybe `path`, as Hugging Face has it
  std::string label;  ///< integers or texts, or lists of them
};

/// A data page: rows whose images are stored, and maybe compressed, together.
struct ParquetPage {
  std::uint64_t offset = 0;  ///< of its header in the file
  std::uint64_t size = 0;    ///< with its header
  std::int64_t num_rows = 0;
};

/// What is to be known of a file before its images are read. Rows have the order of the file.
struct ParquetListing {
  std::int64_t num_rows = 0;
  std::vector<ParquetPage> pages;    ///< of the image column; their rows add up to num_rows
  std::vector<std::int64_t> labels;  ///< of each row; empty if they are texts
  std::vector<std::string> label_texts;
  bool has_lists = false;  ///< rows have any number of labels, one row's behind another's
  std::vector<std::size_t> list_ends;  ///< where the labels of each row end then
  std::vector<std::string> names;  ///< the images' `path`, "" if unknown; empty without the column
  std::string label_column;        ///< the labels', as it is named
  std::string huggingface;         ///< the JSON that Hugging Face's writer leaves, or nothing

  /// Ends the lists of all rows before `row`, of which the last labels were read.
  void end_lists_before(std::int64_t row, std::size_t num_labels) {
    list_ends.resize(static_cast<std::size_t>(row), num_labels);
  }
  /// The row that label `number` is of.
  std::int64_t row_of_label(std::size_t number) const {
    if (!has_lists) return static_cast<std::int64_t>(number);
    return std::ranges::upper_bound(list_ends, number) - list_ends.begin();
  }
  /// The labels of a row, once they are numbers.
  std::span<const std::int64_t> labels_of(std::size_t row) const {
    if (!has_lists) return std::span(labels).subspan(row, 1);
    const std::size_t begin = row == 0 ? 0 : list_ends[row - 1];
    return std::span(labels).subspan(begin, list_ends[row] - begin);
  }
};

/// How single values of a page are read without the rest of it: known of pages that are not
/// compressed, or by Snappy, whose compressor starts anew every 64 KiB.
struct ParquetPlaces {
  static constexpr std::uint32_t kFragmentBytes = 65536;

  std::uint64_t content = 0;  ///< where the (compressed) values begin in the file
  std::uint32_t size = 0;     ///< of the values, not compressed
  struct Value {
    std::uint32_t start;  ///< in the values, not compressed
    std::uint32_t size;
  };
  std::vector<Value> values;  ///< one per row
  /// Where each 64 KiB of the values begin in the compressed ones, and their end; empty if they are
  /// not compressed.
  std::vector<std::uint32_t> fragments;
};

/// A page in memory.
struct DecodedParquetPage {
  std::vector<std::span<const std::uint8_t>> values;  ///< one per row; data() of a null is nullptr
  std::shared_ptr<const void> owner;                  ///< of what they point to
  std::size_t num_bytes = 0;
  std::shared_ptr<const ParquetPlaces> places;  ///< or nullptr
};

/// A part of a file.
struct ParquetStretch {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Makes images of the bytes of a Parquet file. Thread-safe. Errors are DataErrors that name the
/// file.
class ParquetImages {
 public:
  virtual ~ParquetImages() = default;
  /// The page at `offset` of the file, which reads it and the dictionary that it may need.
  virtual DecodedParquetPage decode(const InputFile& file, std::uint64_t offset,
                                    std::uint64_t size) const = 0;
  /// What must be read for the value of row `row` of a page.
  virtual ParquetStretch stretch_of(const ParquetPlaces& places, std::size_t row) const = 0;
  /// Turns the bytes of stretch_of() into that value.
  virtual void unpack(const ParquetPlaces& places, std::size_t row,
                      std::vector<std::uint8_t>& bytes) const = 0;
};

}  // namespace paceline::data
