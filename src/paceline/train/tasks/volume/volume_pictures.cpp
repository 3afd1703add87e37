#include "paceline/train/tasks/volume/volume_pictures.h"

#include "paceline/data/picture/sheet.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace paceline::train {
namespace {

using data::ColourMap;
using data::ColourScale;

/// From air to bone.
constexpr std::array<double, 2> kUsualWindow{-1000, 1000};

at::Tensor on_host(const at::Tensor& values) {
  return values.detach().to(at::kCPU, at::kFloat).contiguous();
}

std::span<const float> values_of(const at::Tensor& host) {
  return {host.const_data_ptr<float>(), static_cast<std::size_t>(host.numel())};
}

ColourScale density_scale(const std::array<double, 2>& hu_window) {
  const double low = std::max(hu_window[0], kUsualWindow[0]);
  const double high = std::min(hu_window[1], kUsualWindow[1]);
  if (low >= high) return {ColourMap::kGrey, hu_window[0], hu_window[1], "HU"};
  return {ColourMap::kGrey, low, high, "HU"};
}

struct ShownColumn {
  std::string title;
  ColourScale scale;
  at::Tensor volume;  ///< on the host
};

std::vector<ShownColumn> columns_of(const ShownVolumes& volumes, const ColourScale& densities) {
  const double range = densities.high - densities.low;
  const ColourScale differences{ColourMap::kDiverging, -range / 4, range / 4, "HU"};
  const ColourScale deviations{ColourMap::kSequential, 0, range / 8, "HU"};
  const bool has_several = volumes.num_samples > 1;
  const at::Tensor mean = on_host(volumes.mean);
  std::vector<ShownColumn> columns;
  if (volumes.truth.defined()) columns.push_back({"truth", densities, on_host(volumes.truth)});
  if (has_several && volumes.sample.defined())
    columns.push_back({"sample", densities, on_host(volumes.sample)});
  columns.push_back({has_several ? fmt::format("mean of {}", volumes.num_samples) : "prediction",
                     densities, mean});
  if (volumes.truth.defined())
    columns.push_back({"difference", differences, mean - on_host(volumes.truth)});
  if (has_several) columns.push_back({"deviation", deviations, on_host(volumes.deviation)});
  return columns;
}

metrics::Picture picture_of(std::string name, const data::Sheet& sheet) {
  const data::Canvas canvas = data::draw(sheet);
  return {std::move(name), canvas.size().width, canvas.size().height, canvas.pixels()};
}

std::vector<float> image_of(const at::Tensor& images, std::int64_t view) {
  const at::Tensor image = images.select(0, view).contiguous();
  const auto values = values_of(image);
  return {values.begin(), values.end()};
}

}  // namespace

metrics::Picture slices_picture(const ShownVolumes& volumes,
                                const std::array<double, 2>& hu_window) {
  const auto columns = columns_of(volumes, density_scale(hu_window));
  const auto side = static_cast<int>(volumes.mean.size(0));
  data::Sheet sheet{.side = side,
                    .caption = "middle slices: the patient's right (R) is on the left",
                    .notice = kSyntheticNotice,
                    .columns = {},
                    .rows = {}};
  for (const ShownColumn& column : columns) sheet.columns.push_back({column.title, column.scale});
  for (const data::Plane plane : data::kPlanes) {
    data::Sheet::Row& row = sheet.rows.emplace_back();
    row.title = data::name_of(plane);
    row.letters = data::letters_of(plane);
    for (const ShownColumn& column : columns)
      row.images.push_back(data::middle_slice(values_of(column.volume), side, plane));
  }
  return picture_of("slices", sheet);
}

metrics::Picture xrays_picture(const ShownXrays& xrays) {
  constexpr double kMmPerCm = 10;
  constexpr double kDifferenceShare = 0.1;  // of the longest way through water
  const at::Tensor given = on_host(xrays.given) * (xrays.fov_mm / kMmPerCm);
  const at::Tensor made = on_host(xrays.made) * (xrays.fov_mm / kMmPerCm);
  const double longest = std::max(given.max().item<double>(), 1e-3);  // of air alone: 0
  const double end = data::round_end(longest);
  const double apart = data::round_end(longest * kDifferenceShare);
  const ColourScale ways{ColourMap::kGrey, 0, end, "cm"};
  data::Sheet sheet{.side = static_cast<int>(given.size(1)),
                    .caption = "X-rays, in centimetres of water along the ray",
                    .notice = kSyntheticNotice,
                    .columns = {{"given", ways},
                                {"re-projected", ways},
                                {"difference", {ColourMap::kDiverging, -apart, apart, "cm"}}},
                    .rows = {}};
  for (std::int64_t view = 0; view < given.size(0); ++view) {
    const double angle = xrays.angles_degrees.at(static_cast<std::size_t>(view));
    sheet.rows.push_back(
        {.title = data::name_of_view(angle),
         .letters = data::letters_of_view(angle),
         .images = {image_of(given, view), image_of(made, view), image_of(made - given, view)}});
  }
  return picture_of("xrays", sheet);
}

}  // namespace paceline::train
