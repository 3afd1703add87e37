#include "paceline/data/loader/host_batch.h"

#include <algorithm>

namespace paceline::data {

std::byte* HostBatch::image(std::int64_t i) const {
  return static_cast<std::byte*>(pixels.get()) +
         static_cast<std::size_t>(i) * image_bytes({height, width}, form);
}

std::size_t image_bytes(ImageSize size, PixelForm form) {
  return std::size_t{3} * static_cast<std::size_t>(size.height) *
         static_cast<std::size_t>(size.width) * (form == PixelForm::kFloats ? sizeof(float) : 1);
}

void remove_samples(HostBatch& batch, std::span<const std::int64_t> places) {
  std::int64_t kept = 0;
  auto next_gap = places.begin();
  for (std::int64_t i = 0; i < batch.count; ++i) {
    if (next_gap != places.end() && *next_gap == i) {
      ++next_gap;
      continue;
    }
    const auto from = static_cast<std::size_t>(i);
    const auto to = static_cast<std::size_t>(kept);
    if (kept != i) {
      std::copy(batch.image(i), batch.image(i + 1), batch.image(kept));
      batch.labels.get()[to] = batch.labels.get()[from];
      batch.indices[to] = batch.indices[from];
      if (!batch.erased.empty()) batch.erased[to] = batch.erased[from];
    }
    ++kept;
  }
  batch.indices.resize(static_cast<std::size_t>(kept));
  if (!batch.erased.empty()) batch.erased.resize(static_cast<std::size_t>(kept));
  batch.count = kept;
}

}  // namespace paceline::data
