#include "paceline/dataset_tools/ct/ct_xrays.h"

#include "paceline/base/error.h"
#include "paceline/dataset_tools/ct/xray_views.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kViews = kCtViewNames.size();

/// Of kCtViewNames.
constexpr std::array<double, kViews> kCtViewAngles{0, 90};

/// A path for each view; an empty one where there is none.
std::vector<fs::path> xrays_in_folder(const ListedPatient& patient) {
  std::vector<fs::path> views(kViews);
  if (patient.folder.empty()) return views;
  const std::vector<fs::path> entries =
      visible_entries(patient.folder, "the folder of " + patient.name);
  const std::string id = patient.folder.filename().string();
  for (std::size_t view = 0; view < kViews; ++view)
    views[view] = find_view(entries, id, kCtViewAngles.at(view), patient.name);
  return views;
}

[[noreturn]] void refuse_missing_view(const ListedPatient& patient, std::int64_t num_incomplete,
                                      std::size_t num_patients) {
  const auto view = static_cast<std::size_t>(std::ranges::find(patient.xrays, fs::path()) -
                                             patient.xrays.begin());
  throw base::DataError(fmt::format(
      "{} has no {} X-ray, and {} of {} patients lack one; expected {} in its folder ID; "
      "add it, take the patient away, or leave out all X-rays by --no-xrays",
      patient.name, kCtViewNames.at(view), num_incomplete, num_patients,
      expected_view_files(kCtViewAngles.at(view))));
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
                                      const CtXraySettings& settings, const std::string& name,
                                      const ReadDicomXray& read_dicom) {
  PACELINE_CHECK(paths.size() == kViews, "{} views of a patient", paths.size());
  std::vector<std::uint16_t> made;
  for (std::size_t view = 0; view < kViews; ++view) {
    const auto xray =
        make_xray(paths[view], settings, fmt::format("{}: {} X-ray", name, kCtViewNames.at(view)),
                  read_dicom);
    made.insert(made.end(), xray.begin(), xray.end());
  }
  return made;
}

}  // namespace paceline::dataset_tools
