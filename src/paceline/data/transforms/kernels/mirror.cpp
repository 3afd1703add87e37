#include "paceline/data/transforms/kernels/mirror.h"

#include <cstring>

#include <hwy/highway.h>

namespace paceline::data {

void copy_mirrored(const std::uint8_t* source, std::ptrdiff_t count, std::uint8_t* target) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Full128<std::uint8_t> lanes;
  // Five pixels lie in the last 15 bytes of a vector, so that none is read beyond the row's end:
  // before them there is another pixel as long as the loop runs. What is written behind them is
  // written over.
  alignas(16) static constexpr std::uint8_t kReversed[16] = {13, 14, 15, 10, 11, 12, 7, 8,
                                                             9,  4,  5,  6,  1,  2,  3, 0};
  constexpr std::ptrdiff_t kPixels = 5;
  std::ptrdiff_t x = 0;
  for (; x + kPixels < count; x += kPixels) {
    const auto pixels = hn::LoadU(lanes, source + 3 * (count - kPixels - x) - 1);
    hn::StoreU(hn::TableLookupBytes(pixels, hn::Load(lanes, kReversed)), lanes, target + 3 * x);
  }
  for (; x < count; ++x) std::memcpy(target + 3 * x, source + 3 * (count - 1 - x), 3);
}

}  // namespace paceline::data
