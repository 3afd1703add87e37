#include "paceline/data/ct/plugin/nifti_file.h"

#include "paceline/base/error.h"
#include "paceline/data/ct/plugin/gzip_input.h"
#include "paceline/data/ct/plugin/nifti_header.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include <fmt/format.h>
#include <nifti2_io.h>

namespace paceline::data {
namespace {

constexpr std::size_t kChunkValues = std::size_t{1} << 17;

template <class T>
void scale_values(std::span<const std::uint8_t> bytes, const NiftiHeader& header,
                  std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<float>(static_cast<double>(stored) * header.slope + header.intercept);
  }
}

void scale_values(std::span<const std::uint8_t> bytes, const NiftiHeader& header,
                  std::span<float> values) {
  switch (header.datatype) {
    case DT_INT8:
      return scale_values<std::int8_t>(bytes, header, values);
    case DT_UINT8:
      return scale_values<std::uint8_t>(bytes, header, values);
    case DT_INT16:
      return scale_values<std::int16_t>(bytes, header, values);
    case DT_UINT16:
      return scale_values<std::uint16_t>(bytes, header, values);
    case DT_INT32:
      return scale_values<std::int32_t>(bytes, header, values);
    case DT_UINT32:
      return scale_values<std::uint32_t>(bytes, header, values);
    case DT_INT64:
      return scale_values<std::int64_t>(bytes, header, values);
    case DT_UINT64:
      return scale_values<std::uint64_t>(bytes, header, values);
    case DT_FLOAT32:
      return scale_values<float>(bytes, header, values);
    default:
      return scale_values<double>(bytes, header, values);
  }
}

void check_finite(std::span<const float> values, std::size_t first, const CtVolume& volume,
                  const std::string& name) {
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return;
  const auto place = static_cast<std::int64_t>(first) + (bad - values.begin());
  const std::int64_t row = place / volume.sizes[0];
  throw base::DataError(fmt::format(
      "{}: voxel ({}, {}, {}) is {}, expected a number; replace such voxels, as by air (-1000)",
      name, place % volume.sizes[0], row % volume.sizes[1], row / volume.sizes[1],
      std::isnan(*bad) ? "NaN" : "infinite"));
}

}  // namespace

CtVolume read_nifti_file(const std::filesystem::path& path, const std::string& name) {
  GzipInput input(path, name);
  const NiftiHeader header = read_nifti_header(input, name);
  CtVolume volume{.sizes = header.sizes, .affine = header.affine};
  volume.values.resize(
      static_cast<std::size_t>(header.sizes[0] * header.sizes[1] * header.sizes[2]));
  const auto item_size = static_cast<std::size_t>(header.item_size);
  std::vector<std::uint8_t> chunk(std::min(kChunkValues, volume.values.size()) * item_size);
  for (std::size_t first = 0; first < volume.values.size(); first += kChunkValues) {
    const std::size_t count = std::min(kChunkValues, volume.values.size() - first);
    const std::span bytes = std::span(chunk).first(count * item_size);
    input.read(bytes);
    if (header.is_swapped)
      nifti_swap_Nbytes(static_cast<std::int64_t>(count), header.item_size, bytes.data());
    const std::span values = std::span(volume.values).subspan(first, count);
    scale_values(bytes, header, values);
    check_finite(values, first, volume, name);
  }
  input.finish();
  return volume;
}

}  // namespace paceline::data
