#include "paceline/data/ct/plugin/dicom_slice.h"

#include <cmath>

#include <fmt/format.h>

namespace paceline::data {
namespace {

constexpr double kDirectionSlack = 1e-3;  ///< of cosines, which are written with few digits
constexpr double kLeastSpacing = 1e-3;
constexpr double kMostSpacing = 100;
constexpr double kMostPosition = 1e5;

double length_of(const Direction& direction) { return std::sqrt(dot(direction, direction)); }

std::vector<double> needed(const DicomFile& file, DicomTag tag, const char* what,
                           std::size_t count) {
  const auto numbers = file.decimals(tag, what, count);
  if (!numbers)
    refuse_dicom(file.name, fmt::format("has no {}, so that its place in the body cannot be told; "
                                        "export it again, or take it out of the folder",
                                        what));
  return *numbers;
}

SlicePlane plane_of(const DicomFile& file) {
  const auto position = needed(file, DicomTag::kPosition, "image position", 3);
  const auto orientation = needed(file, DicomTag::kOrientation, "image orientation", 6);
  const auto spacing = needed(file, DicomTag::kPixelSpacing, "pixel spacing", 2);
  SlicePlane plane{.position = {position[0], position[1], position[2]},
                   .along_row = {orientation[0], orientation[1], orientation[2]},
                   .along_column = {orientation[3], orientation[4], orientation[5]},
                   .column_mm = spacing[1],
                   .row_mm = spacing[0]};
  for (const double mm : spacing)
    if (!(mm >= kLeastSpacing) || mm > kMostSpacing)
      refuse_dicom(file.name, fmt::format("has the pixel spacing {} x {} mm, expected {} to {}; "
                                          "correct it",
                                          spacing[0], spacing[1], kLeastSpacing, kMostSpacing));
  for (const double mm : position)
    if (std::abs(mm) > kMostPosition)
      refuse_dicom(file.name, fmt::format("has an image position of {} mm, expected at most {}; "
                                          "correct it",
                                          mm, kMostPosition));
  const double row = length_of(plane.along_row);
  const double column = length_of(plane.along_column);
  if (std::abs(row - 1) > kDirectionSlack || std::abs(column - 1) > kDirectionSlack ||
      std::abs(dot(plane.along_row, plane.along_column)) > kDirectionSlack)
    refuse_dicom(file.name,
                 "has an image orientation that is no pair of directions at right "
                 "angles; correct it");
  for (std::size_t axis = 0; axis < 3; ++axis) {
    plane.along_row[axis] /= row;
    plane.along_column[axis] /= column;
  }
  return plane;
}

Rescale hounsfield_rescale(const DicomFile& file) {
  const auto rescale = rescale_of(file);
  if (!rescale)
    refuse_dicom(file.name,
                 "has no rescale slope and intercept, so that its values cannot be told "
                 "to be HU; set them, to 1 and 0 if they are");
  const std::string type = file.text(DicomTag::kRescaleType);
  if (!type.empty() && type != "HU" && type != "US")
    refuse_dicom(file.name, fmt::format("holds values of type {}, expected HU; take another series "
                                        "of the scan",
                                        told_code(type)));
  return *rescale;
}

}  // namespace

double dot(const Direction& a, const Direction& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

Direction SlicePlane::normal() const {
  const Direction& a = along_row;
  const Direction& b = along_column;
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

CtSlice ct_slice_of(const DicomFile& file, const std::filesystem::path& path) {
  return {.name = file.name,
          .path = path,
          .layout = layout_of(file),
          .plane = plane_of(file),
          .rescale = hounsfield_rescale(file)};
}

volume::Affine affine_of_slices(std::span<const CtSlice> slices) {
  const SlicePlane& first = slices.front().plane;
  const SlicePlane& last = slices.back().plane;
  const double steps = static_cast<double>(slices.size()) - 1;
  volume::Affine affine{};
  for (std::size_t row = 0; row < 3; ++row) {
    const double sign = row < 2 ? -1 : 1;  // from left and back to right and front
    affine[row] = {sign * first.along_row[row] * first.column_mm,
                   sign * first.along_column[row] * first.row_mm,
                   sign * (last.position[row] - first.position[row]) / steps,
                   sign * first.position[row]};
  }
  return affine;
}

}  // namespace paceline::data
