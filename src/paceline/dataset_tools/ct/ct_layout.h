#pragma once

#include "paceline/dataset_tools/ct/ct_manifest.h"

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

/// An array of each split: what is stored of every patient.
struct CtArrayLayout {
  std::string name;                 ///< of the file, without .npy
  char kind = 'i';                  ///< of the 16-bit integers: i signed, u unsigned
  std::vector<std::int64_t> sizes;  ///< of one patient
  friend bool operator==(const CtArrayLayout&, const CtArrayLayout&) = default;
};

/// "volume_64" of each side, int16 HU, [side, side, side]; after them, if there are X-rays,
/// "xrays_512", uint16 of which 65535 is the intensity 1, [views, size, size].
std::vector<CtArrayLayout> ct_array_layouts(const CtSettings& settings);

/// What one patient takes.
std::uint64_t bytes_of(const CtArrayLayout& layout);

}  // namespace paceline::dataset_tools
