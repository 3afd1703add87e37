#include "paceline/data/ct/plugin/slice_order.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace paceline::data {
namespace {

constexpr double kSameDirection = 1e-3;  ///< of cosines
constexpr double kSameSpacing = 1e-3;    ///< as a part
constexpr double kSamePlace = 0.01;      ///< mm
constexpr double kEven = 0.1;            ///< of a step: positions may be rounded to 0.1 mm
constexpr double kMostTilt = 0.5;        ///< degrees, as cubes are made of what has right angles
constexpr double kMostShift = 0.5;       ///< pixels

/// Millimetres in the plane from the line that leaves `from` along the normal.
Direction offset_in_plane(const Direction& position, const Direction& from,
                          const Direction& normal) {
  Direction offset;
  for (std::size_t axis = 0; axis < 3; ++axis) offset[axis] = position[axis] - from[axis];
  const double along = dot(offset, normal);
  for (std::size_t axis = 0; axis < 3; ++axis) offset[axis] -= along * normal[axis];
  return offset;
}

bool are_near(const Direction& a, const Direction& b, double slack) {
  return std::ranges::equal(a, b, [&](double x, double y) { return std::abs(x - y) <= slack; });
}

void check_same_kind(std::span<const CtSlice> slices) {
  const CtSlice& first = slices.front();
  for (const CtSlice& slice : slices) {
    if (slice.layout.rows != first.layout.rows || slice.layout.columns != first.layout.columns)
      refuse_dicom(slice.name, fmt::format("has {} x {} pixels, expected {} x {} as the others of "
                                           "its series; take it out of the folder",
                                           slice.layout.columns, slice.layout.rows,
                                           first.layout.columns, first.layout.rows));
    if (!are_near(slice.plane.along_row, first.plane.along_row, kSameDirection) ||
        !are_near(slice.plane.along_column, first.plane.along_column, kSameDirection))
      refuse_dicom(slice.name,
                   "has another image orientation than the others of its series; take "
                   "it out of the folder (an overview picture, perhaps)");
    const auto is_same = [](double a, double b) { return std::abs(a - b) <= kSameSpacing * b; };
    if (!is_same(slice.plane.row_mm, first.plane.row_mm) ||
        !is_same(slice.plane.column_mm, first.plane.column_mm))
      refuse_dicom(slice.name, fmt::format("has the pixel spacing {} x {} mm, expected {} x {} as "
                                           "the others of its series; take it out of the folder",
                                           slice.plane.row_mm, slice.plane.column_mm,
                                           first.plane.row_mm, first.plane.column_mm));
  }
}

/// Between neighbours of ordered places.
void check_steps(std::span<const CtSlice> slices, std::span<const double> places) {
  std::vector<double> steps;
  for (std::size_t i = 1; i < places.size(); ++i) {
    steps.push_back(places[i] - places[i - 1]);
    if (steps.back() < kSamePlace)
      refuse_dicom(slices[i].name,
                   fmt::format("lies where {} lies, expected one slice at each place; take one of "
                               "the two out of the folder",
                               slices[i - 1].name));
  }
  std::vector<double> sorted = steps;
  const std::size_t middle = (sorted.size() - 1) / 2;  // of two the smaller, as gaps are larger
  std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(middle));
  const double usual = sorted[middle];
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double ratio = steps[i] / usual;
    if (std::abs(ratio - 1) <= 2 * kEven) continue;  // both ends may be rounded
    const double whole = std::round(ratio);
    if (whole >= 2 && std::abs(ratio - whole) <= 2 * kEven)
      refuse_dicom(slices[i + 1].name,
                   fmt::format("lies {:.6g} mm from {}, expected {:.6g}: {:.0f} missing "
                               "between them; copy or export the series again",
                               steps[i], slices[i].name, usual, whole - 1));
    refuse_dicom(
        slices[i + 1].name,
        fmt::format("lies {:.6g} mm from {}, expected {:.6g} as between the others; export "
                    "the series with equal spacing",
                    steps[i], slices[i].name, usual));
  }
}

/// Of all against one line of equal steps, as many small differences may add up.
void check_line(std::span<const CtSlice> slices, std::span<const double> places) {
  const CtSlice& first = slices.front();
  const Direction normal = first.plane.normal();
  const double depth = places.back() - places.front();
  const double step = depth / static_cast<double>(places.size() - 1);
  const Direction whole =
      offset_in_plane(slices.back().plane.position, first.plane.position, normal);
  const double shift = std::sqrt(dot(whole, whole));
  const double tilt = std::atan2(shift, depth) * 180 / std::numbers::pi;
  const double most_shift = kMostShift * std::min(first.plane.row_mm, first.plane.column_mm);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const double part = (places[i] - places.front()) / depth;
    const double expected = places.front() + step * static_cast<double>(i);
    if (std::abs(places[i] - expected) > kEven * step)
      refuse_dicom(
          slices[i].name,
          fmt::format("lies {:.3g} mm from where slices with equal spacing lie; export the "
                      "series with equal spacing",
                      std::abs(places[i] - expected)));
    Direction offset = offset_in_plane(slices[i].plane.position, first.plane.position, normal);
    for (std::size_t axis = 0; axis < 3; ++axis) offset[axis] -= part * whole[axis];
    const double beside = std::sqrt(dot(offset, offset));
    if (beside > most_shift)
      refuse_dicom(slices[i].name,
                   fmt::format("lies {:.3g} mm beside the line of the other slices; "
                               "export the series again",
                               beside));
  }
  if (tilt > kMostTilt)
    refuse_dicom(
        first.name,
        fmt::format("begins a series whose slices are shifted against each other by {:.3g} "
                    "degrees (a tilted gantry), expected at most {}; resample it upright, "
                    "as dcm2niix does",
                    tilt, kMostTilt));
}

}  // namespace

void order_slices(std::vector<CtSlice>& slices) {
  if (slices.size() < 2)
    refuse_dicom(slices.front().name,
                 "is the only slice of its series, expected at least 2; export "
                 "the whole series");
  check_same_kind(slices);
  const Direction normal = slices.front().plane.normal();
  const auto place_of = [&](const CtSlice& slice) { return dot(slice.plane.position, normal); };
  std::ranges::stable_sort(slices, {}, place_of);
  std::vector<double> places;
  places.reserve(slices.size());
  for (const CtSlice& slice : slices) places.push_back(place_of(slice));
  check_steps(slices, places);
  check_line(slices, places);
}

}  // namespace paceline::data
