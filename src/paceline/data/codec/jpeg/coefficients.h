#pragma once

#include "paceline/data/codec/jpeg/header.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace paceline::data::jpeg {

/// The quantised coefficients of one block.
struct alignas(16) Block {
  /// By rows. One more takes what is written ahead of the block's end.
  std::int16_t values[kBlockSize + 1];
  /// All coefficients from this one on, in zigzag order, are zero.
  std::int16_t end;
};

/// The blocks of a stretch of an MCU row.
class CoefficientRow {
 public:
  /// Makes room for `columns` MCUs from `first_column` on.
  void resize(const Header& header, int first_column, int columns) {
    first_column_ = first_column;
    columns_ = columns;
    std::size_t count = 0;
    for (std::size_t i = 0; i < header.num_components; ++i) {
      begin_[i] = count;
      line_[i] = static_cast<std::size_t>(columns) *
                 static_cast<std::size_t>(header.components[i].columns);
      count += line_[i] * static_cast<std::size_t>(header.components[i].rows);
    }
    count_ = count;
    if (blocks_.size() < count) blocks_.resize(count);
  }
  /// Makes all coefficients zero.
  void clear() { std::memset(blocks_.data(), 0, count_ * sizeof(Block)); }

  int first_column() const { return first_column_; }
  int columns() const { return columns_; }
  /// Blocks of a component side by side.
  int line_length(std::size_t component) const { return static_cast<int>(line_[component]); }
  Block* line(std::size_t component, int row) {
    return blocks_.data() + begin_[component] + static_cast<std::size_t>(row) * line_[component];
  }

 private:
  int first_column_ = 0;
  int columns_ = 0;
  std::size_t count_ = 0;
  std::array<std::size_t, kMaxComponents> begin_{};
  std::array<std::size_t, kMaxComponents> line_{};
  std::vector<Block> blocks_;
};

/// Where coefficients come from: the compressed data, or data that were prepared from them.
class CoefficientSource {
 public:
  virtual ~CoefficientSource() = default;
  /// Fills the row's stretch of MCU row `mcu_row`. Rows are asked for from top to bottom. False if
  /// the data are damaged, or so odd that libjpeg must judge them.
  virtual bool read(int mcu_row, CoefficientRow& row) = 0;
};

}  // namespace paceline::data::jpeg
