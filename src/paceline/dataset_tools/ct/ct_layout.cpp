#include "paceline/dataset_tools/ct/ct_layout.h"

#include <fmt/format.h>

namespace paceline::dataset_tools {

std::vector<CtArrayLayout> ct_array_layouts(const CtSettings& settings) {
  std::vector<CtArrayLayout> layouts;
  for (const std::int64_t side : settings.sides)
    layouts.push_back({.name = fmt::format("volume_{}", side), .sizes = {side, side, side}});
  if (settings.xrays) {
    const std::int64_t size = settings.xrays->size;
    layouts.push_back({.name = fmt::format("xrays_{}", size),
                       .kind = 'u',
                       .sizes = {std::ssize(kCtViewNames), size, size}});
  }
  return layouts;
}

std::uint64_t bytes_of(const CtArrayLayout& layout) {
  std::uint64_t bytes = sizeof(std::int16_t);
  for (const std::int64_t size : layout.sizes) bytes *= static_cast<std::uint64_t>(size);
  return bytes;
}

}  // namespace paceline::dataset_tools
