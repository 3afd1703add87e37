#include "paceline/data/ct/plugin/dicom_pixels.h"

#include <cmath>

#include <fmt/format.h>

namespace paceline::data {
namespace {

constexpr unsigned kMostSide = 1 << 14;
constexpr double kMostSlope = 1000;
constexpr double kMostIntercept = 1e6;

void check_single_frame(const DicomFile& file) {
  if (!file.has_pixels)
    refuse_dicom(file.name, "has no pixel data; export it again, or take it out of the folder");
  const auto frames = file.decimals(DicomTag::kNumberOfFrames, "number of frames", 1);
  if (frames && frames->front() != 1)
    refuse_dicom(file.name, fmt::format("holds {} frames (enhanced multi-frame), expected one; "
                                        "convert it to single slices or to NIfTI",
                                        frames->front()));
}

void check_grey(const DicomFile& file) {
  const unsigned samples = file.number(DicomTag::kSamplesPerPixel, "number of samples per pixel");
  const std::string photometric = file.text(DicomTag::kPhotometric);
  if (samples != 1 || (photometric != "MONOCHROME1" && photometric != "MONOCHROME2"))
    refuse_dicom(file.name, fmt::format("has pixels of {} samples and photometric interpretation "
                                        "{}, expected 1 and MONOCHROME2; export it as grey values",
                                        samples, told_code(photometric)));
}

}  // namespace

PixelLayout layout_of(const DicomFile& file) {
  check_single_frame(file);
  check_grey(file);
  PixelLayout layout{.rows = file.number(DicomTag::kRows, "number of rows"),
                     .columns = file.number(DicomTag::kColumns, "number of columns"),
                     .bits_allocated = file.number(DicomTag::kBitsAllocated, "bits allocated"),
                     .bits_stored = file.number(DicomTag::kBitsStored, "bits stored"),
                     .high_bit = file.number(DicomTag::kHighBit, "high bit")};
  if (layout.rows < 1 || layout.rows > kMostSide || layout.columns < 1 ||
      layout.columns > kMostSide)
    refuse_dicom(file.name, fmt::format("says that it has {} x {} pixels, expected 1 to {} a side; "
                                        "export it again",
                                        layout.columns, layout.rows, kMostSide));
  const unsigned sign = file.number(DicomTag::kPixelRepresentation, "pixel representation");
  layout.is_signed = sign == 1;
  if ((layout.bits_allocated != 8 && layout.bits_allocated != 16) || layout.bits_stored < 1 ||
      layout.bits_stored > layout.bits_allocated || layout.high_bit + 1 < layout.bits_stored ||
      layout.high_bit >= layout.bits_allocated || sign > 1)
    refuse_dicom(file.name,
                 fmt::format("stores {} bits in {}, the highest {} (representation {}), "
                             "expected at most 16 in 8 or 16; export it again",
                             layout.bits_stored, layout.bits_allocated, layout.high_bit, sign));
  return layout;
}

std::vector<std::int32_t> unpack_pixels(const std::string& bytes, const PixelLayout& layout,
                                        const std::string& name) {
  const std::size_t most = layout.bytes() + layout.bytes() % 2;  // lengths are even
  if (bytes.size() < layout.bytes() || bytes.size() > most)
    refuse_dicom(name,
                 fmt::format("has {} bytes of pixels, expected {} for {} x {}; export it again",
                             bytes.size(), layout.bytes(), layout.columns, layout.rows));
  std::vector<std::int32_t> values(layout.count());
  const unsigned shift = layout.high_bit + 1 - layout.bits_stored;
  const std::uint32_t mask = (std::uint32_t{1} << layout.bits_stored) - 1;
  const std::uint32_t sign = layout.is_signed ? std::uint32_t{1} << (layout.bits_stored - 1) : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::uint32_t word = 0;
    if (layout.bits_allocated == 8) {
      word = static_cast<std::uint8_t>(bytes[i]);
    } else {
      word = static_cast<std::uint8_t>(bytes[2 * i]) |
             static_cast<std::uint32_t>(static_cast<std::uint8_t>(bytes[2 * i + 1])) << 8U;
    }
    const std::uint32_t stored = word >> shift & mask;
    // What lies beyond the bits that are stored, overlays in old files, is no part of the number.
    values[i] = static_cast<std::int32_t>(stored ^ sign) - static_cast<std::int32_t>(sign);
  }
  return values;
}

std::optional<Rescale> rescale_of(const DicomFile& file) {
  const auto slope = file.decimals(DicomTag::kRescaleSlope, "rescale slope", 1);
  const auto intercept = file.decimals(DicomTag::kRescaleIntercept, "rescale intercept", 1);
  if (!slope && !intercept) return std::nullopt;
  if (!slope || !intercept)
    refuse_dicom(file.name, "has only one of rescale slope and intercept; set both");
  if (!(slope->front() > 0) || slope->front() > kMostSlope)
    refuse_dicom(file.name,
                 fmt::format("has the rescale slope {}, expected a positive number of at "
                             "most {}; correct it",
                             slope->front(), kMostSlope));
  if (std::abs(intercept->front()) > kMostIntercept)
    refuse_dicom(file.name, fmt::format("has the rescale intercept {}, expected one of at most {}; "
                                        "correct it",
                                        intercept->front(), kMostIntercept));
  return Rescale{.slope = slope->front(), .intercept = intercept->front()};
}

}  // namespace paceline::data
