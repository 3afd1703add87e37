#include "paceline/data/codec/jpeg/idct.h"

#include <algorithm>
#include <array>

namespace paceline::data::jpeg {
namespace {

using Line = std::array<std::int16_t, kBlockSide>;
using Lines = std::array<Line, kBlockSide>;

std::int16_t wrapped(int value) { return static_cast<std::int16_t>(value); }

std::int16_t saturated(std::int32_t value) {
  return static_cast<std::int16_t>(std::clamp(value, -32768, 32767));
}

/// 32-bit sums may wrap as well.
struct Sums {
  std::uint32_t first;
  std::uint32_t second;
};

Sums rotate(const idct::Rotation& by, int p, int q) {
  return {static_cast<std::uint32_t>(p * by.a) + static_cast<std::uint32_t>(q * by.b),
          static_cast<std::uint32_t>(p * by.b) + static_cast<std::uint32_t>(q * by.c)};
}

/// One transform of eight numbers.
Line transform_line(const Line& in, int shift) {
  const auto scaled = [](int value) {
    return static_cast<std::uint32_t>(wrapped(value)) << idct::kConstantBits;
  };
  const Sums even = rotate(idct::kEven, in[2], in[6]);
  const std::uint32_t sum = scaled(in[0] + in[4]);
  const std::uint32_t difference = scaled(in[0] - in[4]);
  const std::uint32_t middle[4] = {sum + even.first, difference + even.second,
                                   difference - even.second, sum - even.first};
  const Sums odd = rotate(idct::kOdd, wrapped(in[7] + in[3]), wrapped(in[5] + in[1]));
  const Sums outer = rotate(idct::kOuter, in[7], in[1]);
  const Sums inner = rotate(idct::kInner, in[5], in[3]);
  const std::uint32_t side[4] = {outer.second + odd.second, inner.second + odd.first,
                                 inner.first + odd.second, outer.first + odd.first};
  const auto descaled = [shift](std::uint32_t value) {
    return saturated(static_cast<std::int32_t>(value + (1U << (shift - 1))) >> shift);
  };
  Line out{};
  for (std::size_t i = 0; i < 4; ++i) {
    out[i] = descaled(middle[i] + side[i]);
    out[7 - i] = descaled(middle[i] - side[i]);
  }
  return out;
}

Lines transposed(const Lines& lines) {
  Lines result{};
  for (std::size_t i = 0; i < kBlockSide; ++i) {
    for (std::size_t j = 0; j < kBlockSide; ++j) result[j][i] = lines[i][j];
  }
  return result;
}

}  // namespace

void transform_block_scalar(const Block& block, const Quantisers& quantisers, std::uint8_t* target,
                            std::ptrdiff_t stride) {
  Lines rows{};
  for (std::size_t i = 0; i < kBlockSize; ++i) {
    rows[i / kBlockSide][i % kBlockSide] = wrapped(block.values[i] * quantisers.values[i]);
  }
  Lines columns = transposed(rows);
  // libjpeg's shortcut does not saturate.
  const bool has_one_row = std::all_of(block.values + kBlockSide, block.values + kBlockSize,
                                       [](std::int16_t value) { return value == 0; });
  for (Line& column : columns) {
    if (has_one_row) {
      column.fill(wrapped(column[0] * (1 << idct::kKeptBits)));
    } else {
      column = transform_line(column, idct::kColumnShift);
    }
  }
  rows = transposed(columns);
  for (const Line& row : rows) {
    const Line samples = transform_line(row, idct::kRowShift);
    std::ranges::transform(samples, target, [](int value) {
      return static_cast<std::uint8_t>(std::clamp(value, -128, 127) + 128);
    });
    target += stride;
  }
}

}  // namespace paceline::data::jpeg
