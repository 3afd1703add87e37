#include "paceline/dataset_tools/ct/ct_listing.h"

#include "paceline/base/error.h"
#include "paceline/data/ct/is_dicom.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

/// The name without its ending; nothing if it is none of NIfTI, or of labels.
std::optional<std::string> nifti_stem(const fs::path& path) {
  const std::string name = path.filename().string();
  for (const std::string_view ending : {".nii.gz", ".nii"})
    if (name.size() > ending.size() && name.ends_with(ending) &&
        !name.ends_with("_organs" + std::string(ending)))
      return name.substr(0, name.size() - ending.size());
  return std::nullopt;
}

/// Sorted; also of folders below.
std::vector<fs::path> dicom_files_in(const fs::path& folder, const std::string& what) {
  std::vector<fs::path> paths;
  for (const fs::path& path : visible_entries(folder, what)) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      if (fs::is_symlink(path, error)) continue;  // it may lead to a folder above
      const std::vector<fs::path> below = dicom_files_in(path, what);
      paths.insert(paths.end(), below.begin(), below.end());
    } else if (fs::is_regular_file(path, error) && data::is_dicom(path)) {
      paths.push_back(path);
    }
  }
  return paths;
}

struct FoundScan {
  fs::path file;
  std::vector<fs::path> slices;
};

std::optional<FoundScan> scan_in(const fs::path& folder, const std::string& code) {
  const std::string patient = folder.filename().string();
  const std::string what = "the folder of patient " + code;
  std::vector<fs::path> scans;
  std::vector<fs::path> named;
  for (const fs::path& path : visible_entries(folder, what)) {
    const auto stem = nifti_stem(path);
    if (!stem) continue;
    scans.push_back(path);
    if (*stem == patient) named.push_back(path);
  }
  const std::vector<fs::path>& chosen = named.empty() ? scans : named;
  if (chosen.empty()) {
    std::vector<fs::path> slices = dicom_files_in(folder, what);
    std::error_code error;
    if (slices.empty() && fs::exists(folder / (patient + ".npy"), error))
      throw base::DataError(fmt::format(
          "patient {} has an array and no scan: it says neither how large voxels are nor how they "
          "lie; store it as NIfTI with its affine, ending in .nii.gz",
          code));
    if (slices.empty()) return std::nullopt;
    return FoundScan{.file = {}, .slices = std::move(slices)};
  }
  if (chosen.size() == 1) return FoundScan{.file = chosen[0], .slices = {}};
  throw base::DataError(fmt::format(
      "patient {} has {} scans in its folder; leave one, or call one as the folder, ending in "
      ".nii.gz",
      code, chosen.size()));
}

/// For messages: patients by their place among the folder's entries.
void refuse_doubles(const std::vector<ListedPatient>& patients) {
  const auto same = [](const ListedPatient& a, const ListedPatient& b) { return a.code == b.code; };
  const auto twice = std::ranges::adjacent_find(patients, same);
  if (twice == patients.end()) return;
  throw base::DataError(fmt::format("{} and {} are scans of one patient; leave one of them",
                                    twice->name, (twice + 1)->name));
}

}  // namespace

std::vector<fs::path> visible_entries(const fs::path& folder, const std::string& what) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (!entry->path().filename().string().starts_with('.')) paths.push_back(entry->path());
  }
  if (error)
    throw base::DataError(fmt::format("{}: cannot be listed: {}; name a folder that can be read",
                                      what, error.message()));
  std::ranges::sort(paths);
  return paths;
}

CtListing list_ct_patients(const fs::path& folder, std::uint64_t seed) {
  CtListing listing;
  const std::vector<fs::path> entries = visible_entries(folder, folder.string());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::error_code error;
    const bool is_folder = fs::is_directory(entries[i], error);
    const auto patient = is_folder ? entries[i].filename().string() : nifti_stem(entries[i]);
    std::optional<FoundScan> scan;
    std::string code;
    if (patient) {
      code = patient_code(*patient, seed);
      scan = is_folder ? scan_in(entries[i], code) : FoundScan{.file = entries[i], .slices = {}};
    }
    if (!scan) {
      ++listing.left_out;
      continue;
    }
    std::string name = fmt::format("patient {} (entry {} of {})", code, i + 1, entries.size());
    listing.patients.push_back({.code = std::move(code),
                                .split = split_of_patient(*patient, seed),
                                .file = std::move(scan->file),
                                .name = std::move(name),
                                .folder = is_folder ? entries[i] : fs::path(),
                                .slices = std::move(scan->slices)});
  }
  if (listing.patients.empty())
    throw base::ConfigError(
        fmt::format("{} holds no scans; expected ID.nii.gz, ID/ID.nii.gz (or .nii), or a folder ID "
                    "with the slices of a DICOM series, of each patient",
                    folder.string()));
  std::ranges::stable_sort(listing.patients, {}, &ListedPatient::code);
  refuse_doubles(listing.patients);
  return listing;
}

}  // namespace paceline::dataset_tools
