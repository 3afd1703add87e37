#pragma once

#include "paceline/data/ct/plugin/dicom_file.h"
#include "paceline/data/ct/plugin/dicom_pixels.h"

#include <span>

namespace paceline::data {

/// A file and what layout_of() says of it.
struct DicomPicture {
  DicomFile file;
  PixelLayout layout = {};
};

/// The numbers of each picture as they were stored. Compressed ones are decoded by GDCM, in a
/// process of their own: its codecs end on some damaged files by a failed assertion. Throws
/// DataError for compression that is not known and for what cannot be decoded.
std::vector<std::vector<std::int32_t>> decode_pictures(std::span<const DicomPicture> pictures);

}  // namespace paceline::data
