#include "paceline/tensor/device_pool.h"

#include <c10/core/CachingDeviceAllocator.h>

namespace paceline::tensor {

std::uint64_t obtainable_device_bytes(c10::Device place) {
  constexpr auto kAll = static_cast<std::size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  c10::DeviceAllocator& allocator = *c10::getDeviceAllocator(place.type());
  const auto stats = allocator.getDeviceStats(place.index());
  const std::int64_t unused =
      stats.reserved_bytes[kAll].current - stats.allocated_bytes[kAll].current;
  return allocator.getMemoryInfo(place.index()).first + static_cast<std::uint64_t>(unused);
}

void restart_device_peak(c10::Device place) {
  c10::DeviceAllocator& allocator = *c10::getDeviceAllocator(place.type());
  allocator.emptyCache();
  allocator.resetPeakStats(place.index());
}

}  // namespace paceline::tensor
