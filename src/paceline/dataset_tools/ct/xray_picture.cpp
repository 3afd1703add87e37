#include "paceline/dataset_tools/ct/xray_picture.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/data/codec/gray_decoder.h"
#include "paceline/data/ct/is_dicom.h"
#include "paceline/dataset_tools/ct/triangle_filter.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

constexpr float kStoredWhite = 65535;

/// Row by row; kStoredWhite is white.
struct Greys {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<float> values = {};
};

Greys read_picture(const fs::path& path, const std::string& name) {
  try {
    const base::MappedFile file(path);
    const std::string_view bytes = file.bytes();
    const data::GrayImage image = data::decode_gray(
        {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});  // NOLINT
    return {image.size.height, image.size.width, {image.values.begin(), image.values.end()}};
  } catch (const base::FileError& error) {  // whose path says who the patient is
    throw base::DataError(fmt::format("{}: cannot be read: {}", name,
                                      std::generic_category().message(error.error_number())));
  } catch (const base::DataError& error) {
    throw base::DataError(fmt::format("{}: {}", name, error.what()));
  }
}

Greys read_greys(const fs::path& path, const std::string& name, const ReadDicomXray& read_dicom) {
  if (!data::is_dicom(path)) return read_picture(path, name);
  data::XrayPicture picture = read_dicom(path, name);
  for (float& value : picture.values) value *= kStoredWhite;
  return {picture.rows, picture.columns, std::move(picture.values)};
}

std::vector<float> resampled(const Greys& picture, std::int64_t size) {
  const std::int64_t side = picture.columns;
  const auto inputs = static_cast<std::size_t>(side);
  const auto taps =
      triangle_taps(side, size, static_cast<double>(side) / static_cast<double>(size));
  const std::vector<float> narrow = resample_axis(picture.values, inputs, 1, taps, 0);
  return resample_axis(narrow, inputs, static_cast<std::size_t>(size), taps, 0);
}

}  // namespace

std::vector<std::uint16_t> make_xray(const fs::path& path, const CtXraySettings& settings,
                                     const std::string& name, const ReadDicomXray& read_dicom) {
  const Greys picture = read_greys(path, name, read_dicom);
  if (picture.columns != picture.rows)
    throw base::DataError(
        fmt::format("{}: {} x {} pixels, expected a square; crop it, or fill it up with black",
                    name, picture.columns, picture.rows));
  const std::vector<float> values = resampled(picture, settings.size);
  std::vector<std::uint16_t> made;
  made.reserve(values.size());
  for (std::int64_t row = 0; row < settings.size; ++row) {
    const std::int64_t from = settings.flip_vertically ? settings.size - 1 - row : row;
    std::transform(
        values.begin() + from * settings.size, values.begin() + (from + 1) * settings.size,
        std::back_inserter(made), [](float value) {
          return static_cast<std::uint16_t>(std::lround(std::clamp(value, 0.0F, kStoredWhite)));
        });
  }
  return made;
}

}  // namespace paceline::dataset_tools
