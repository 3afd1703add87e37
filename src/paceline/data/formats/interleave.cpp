#include "paceline/data/formats/interleave.h"

#include <hwy/highway.h>

namespace paceline::data {

void interleave_planes(const std::uint8_t* planes, std::size_t plane, std::size_t count,
                       std::uint8_t* target) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<std::uint8_t> lanes;
  std::size_t i = 0;
  for (; i + hn::Lanes(lanes) <= count; i += hn::Lanes(lanes)) {
    hn::StoreInterleaved3(hn::LoadU(lanes, planes + i), hn::LoadU(lanes, planes + plane + i),
                          hn::LoadU(lanes, planes + 2 * plane + i), lanes, target + 3 * i);
  }
  for (; i < count; ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      target[3 * i + channel] = planes[channel * plane + i];
    }
  }
}

}  // namespace paceline::data
