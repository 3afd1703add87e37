#include "paceline/dataset_tools/ct/ct_xrays.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/data/codec/gray_decoder.h"
#include "paceline/dataset_tools/ct/triangle_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <system_error>

#include <fmt/ranges.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kViews = kCtViewNames.size();

/// What follows the patient in a file's name, of each view.
constexpr std::array<std::array<std::string_view, 3>, kViews> kViewMarks{
    {{"_pa_drr", "_pa", "_frontal"}, {"_lat_drr", "_lat", "_lateral"}}};

std::vector<fs::path> files_of_view(const std::vector<fs::path>& entries,
                                    const std::string& patient, std::size_t view) {
  std::vector<fs::path> found;
  for (const fs::path& path : entries) {
    const std::string stem = path.stem().string();
    for (const std::string_view mark : kViewMarks.at(view))
      if (path.has_extension() && stem == patient + std::string(mark)) found.push_back(path);
  }
  return found;
}

/// A path for each view; an empty one where there is none.
std::vector<fs::path> xrays_in_folder(const ListedPatient& patient) {
  std::vector<fs::path> views(kViews);
  if (patient.folder.empty()) return views;
  const std::vector<fs::path> entries =
      visible_entries(patient.folder, "the folder of " + patient.name);
  for (std::size_t view = 0; view < kViews; ++view) {
    const auto found = files_of_view(entries, patient.folder.filename().string(), view);
    if (found.size() > 1)
      throw base::DataError(fmt::format("{} has {} files for the {} X-ray; leave one of them",
                                        patient.name, found.size(), kCtViewNames.at(view)));
    if (!found.empty()) views[view] = found[0];
  }
  return views;
}

[[noreturn]] void refuse_missing_view(const ListedPatient& patient, std::int64_t num_incomplete,
                                      std::size_t num_patients) {
  const auto view = static_cast<std::size_t>(std::ranges::find(patient.xrays, fs::path()) -
                                             patient.xrays.begin());
  std::vector<std::string> names;
  for (const std::string_view mark : kViewMarks.at(view))
    names.push_back(fmt::format("ID{}.png", mark));
  throw base::DataError(fmt::format(
      "{} has no {} X-ray, and {} of {} patients lack one; expected {} (or .jpg) in its folder ID; "
      "add it, take the patient away, or leave out all X-rays by --no-xrays",
      patient.name, kCtViewNames.at(view), num_incomplete, num_patients, fmt::join(names, ", ")));
}

data::GrayImage read_xray(const fs::path& path, const std::string& name) {
  try {
    const base::MappedFile file(path);
    const std::string_view bytes = file.bytes();
    return data::decode_gray(
        {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});  // NOLINT
  } catch (const base::FileError& error) {  // whose path says who the patient is
    throw base::DataError(fmt::format("{}: cannot be read: {}", name,
                                      std::generic_category().message(error.error_number())));
  } catch (const base::DataError& error) {
    throw base::DataError(fmt::format("{}: {}", name, error.what()));
  }
}

std::vector<float> resampled(const data::GrayImage& image, std::int64_t size) {
  const std::int64_t side = image.size.width;
  const auto inputs = static_cast<std::size_t>(side);
  const auto taps =
      triangle_taps(side, size, static_cast<double>(side) / static_cast<double>(size));
  const std::vector<float> values(image.values.begin(), image.values.end());
  const std::vector<float> narrow = resample_axis(values, inputs, 1, taps, 0);
  return resample_axis(narrow, inputs, static_cast<std::size_t>(size), taps, 0);
}

}  // namespace

bool find_xrays(std::vector<ListedPatient>& patients) {
  const auto lacks_a_view = [](const ListedPatient& patient) {
    return std::ranges::any_of(patient.xrays, &fs::path::empty);
  };
  bool has_some = false;
  for (ListedPatient& patient : patients) {
    patient.xrays = xrays_in_folder(patient);
    has_some = has_some || !std::ranges::all_of(patient.xrays, &fs::path::empty);
  }
  const auto num_incomplete = std::ranges::count_if(patients, lacks_a_view);
  if (has_some && num_incomplete > 0)
    refuse_missing_view(*std::ranges::find_if(patients, lacks_a_view), num_incomplete,
                        patients.size());
  if (!has_some)
    for (ListedPatient& patient : patients) patient.xrays.clear();
  return has_some;
}

std::vector<std::uint16_t> make_xrays(std::span<const fs::path> paths,
                                      const CtXraySettings& settings, const std::string& name) {
  PACELINE_CHECK(paths.size() == kViews, "{} views of a patient", paths.size());
  std::vector<std::uint16_t> made;
  for (std::size_t view = 0; view < kViews; ++view) {
    const std::string own_name = fmt::format("{}: {} X-ray", name, kCtViewNames.at(view));
    const data::GrayImage image = read_xray(paths[view], own_name);
    if (image.size.width != image.size.height)
      throw base::DataError(
          fmt::format("{}: {} x {} pixels, expected a square; crop it, or fill it up with black",
                      own_name, image.size.width, image.size.height));
    const std::vector<float> values = resampled(image, settings.size);
    for (std::int64_t row = 0; row < settings.size; ++row) {
      const std::int64_t from = settings.flip_vertically ? settings.size - 1 - row : row;
      std::transform(
          values.begin() + from * settings.size, values.begin() + (from + 1) * settings.size,
          std::back_inserter(made), [](float value) {
            constexpr float kWhite = 65535;
            return static_cast<std::uint16_t>(std::lround(std::clamp(value, 0.0F, kWhite)));
          });
    }
  }
  return made;
}

}  // namespace paceline::dataset_tools
