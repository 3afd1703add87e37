#include "paceline/data/transforms/kernels/edge_padding.h"

#include <algorithm>
#include <cstring>

namespace paceline::data {

int padded_place(int place, int length, EdgePadding padding) {
  if (padding == EdgePadding::kEdge || length == 1) return std::clamp(place, 0, length - 1);
  const int repeated = padding == EdgePadding::kSymmetric ? 1 : 0;  // whether ends come twice
  const int period = 2 * (length - 1 + repeated);
  const int turned = ((place % period) + period) % period;
  return turned < length ? turned : period - repeated - turned;
}

void copy_padded(const PixelView& source, const Box& box, EdgePadding padding, std::uint8_t* target,
                 std::ptrdiff_t stride) {
  constexpr std::ptrdiff_t kPixelBytes = 3;
  const ImageSize size = source.size;
  const int from = std::clamp(box.left, 0, size.width);
  const int to = std::clamp(box.right(), from, size.width);
  for (int y = 0; y < box.height; ++y) {
    const std::uint8_t* row = source.row(padded_place(box.top + y, size.height, padding));
    std::uint8_t* out = target + y * stride;
    const auto copy = [&](int x, int count) {
      const int place = count == 1 ? padded_place(x, size.width, padding) : x;
      std::memcpy(out + kPixelBytes * (x - box.left), row + kPixelBytes * place,
                  static_cast<std::size_t>(kPixelBytes * count));
    };
    for (int x = box.left; x < std::min(from, box.right()); ++x) copy(x, 1);
    if (to > from) copy(from, to - from);
    for (int x = std::max(to, box.left); x < box.right(); ++x) copy(x, 1);
  }
}

}  // namespace paceline::data
