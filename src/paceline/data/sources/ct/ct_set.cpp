#include "paceline/data/sources/ct/ct_set.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/base/json.h"
#include "paceline/data/ct/is_dicom.h"
#include "paceline/data/dataset/dataset.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrepareAgain =
    "run `paceline data prepare ct` again, which makes anew what is damaged";
constexpr std::string_view kMakeAllAgain =
    "remove it and run `paceline data prepare ct` again, which makes all volumes anew";

/// Whether scans lie there that have not been prepared: NIfTI or DICOM files, or folders of such.
/// Looks at few entries, as all will be alike.
bool holds_scans(const fs::path& folder) {
  constexpr int kMostEntries = 1000;
  int count = 0;
  std::error_code error;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(folder, options, error), end;
       !error && entry != end && count < kMostEntries; entry.increment(error), ++count) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;  // what cannot be looked at is none
    if (name.ends_with(".nii") || name.ends_with(".nii.gz") ||
        (entry->is_regular_file(ignored) && is_dicom(entry->path())))
      return true;
  }
  return false;
}

nlohmann::json read_manifest(const fs::path& folder) {
  const fs::path path = folder / kCtManifestName;
  if (!base::file_exists(path)) {
    if (holds_scans(folder))
      throw base::DataError(fmt::format(
          "{0}: holds scans of patients, which are prepared once: run `paceline data prepare ct "
          "{0} DST` and write data.path=DST",
          folder.string()));
    throw base::DataError(fmt::format(
        "{}: is not there; name a folder that `paceline data prepare ct` has made", path.string()));
  }
  nlohmann::json manifest = base::parse_json(base::read_file(path));
  if (manifest.at("format") != kCtFormat || manifest.at("version") != kCtVersion)
    throw base::JsonError("it is that of something else, or of another version");
  return manifest;
}

std::size_t place_of_side(const fs::path& folder, const std::vector<std::int64_t>& sides,
                          std::int64_t side) {
  if (side < 1) throw base::JsonError("it names a side that is none");
  const auto found = std::ranges::find(sides, side);
  if (found == sides.end())
    throw base::ConfigError(fmt::format(
        "data.side: {} has volumes of {} voxels a side and none of {}: choose one of these, or "
        "make others by `paceline data prepare ct --sides`",
        folder.string(), fmt::join(sides, ", "), side));
  return static_cast<std::size_t>(found - sides.begin());
}

/// Else what is trained on would be evaluated.
void require_different_patients(const nlohmann::json& manifest) {
  std::map<std::string, std::string> splits;
  for (const nlohmann::json& patient : manifest.at("patients")) {
    const std::string split = patient.at("split");
    const auto [known, is_new] = splits.emplace(patient.at("patient"), split);
    if (!is_new)
      throw base::JsonError(fmt::format("patient {} is there twice, in the splits {} and {}",
                                        known->first, known->second, split));
  }
}

std::vector<CtSetPatient> patients_of(const nlohmann::json& manifest, std::string_view split,
                                      std::size_t place_of_side) {
  std::vector<std::optional<CtSetPatient>> found;
  for (const nlohmann::json& patient : manifest.at("patients")) {
    if (patient.at("split") != split) continue;
    const auto index = patient.at("index").get<std::size_t>();
    if (index >= manifest.at("patients").size())
      throw base::JsonError(fmt::format("a patient has the index {}", index));
    if (index >= found.size()) found.resize(index + 1);
    if (found[index]) throw base::JsonError(fmt::format("two patients have the index {}", index));
    found[index] = CtSetPatient{.code = patient.at("patient"),
                                .affine = patient.at("affine"),
                                .cube_hash = patient.at("hashes").at(place_of_side)};
    // That of X-rays stands behind those of all sides.
    if (manifest.contains("xrays"))
      found[index]->xray_hash = patient.at("hashes").at(manifest.at("sides").size());
  }
  std::vector<CtSetPatient> patients;
  for (std::size_t index = 0; index < found.size(); ++index) {
    if (!found[index]) throw base::JsonError(fmt::format("no patient has the index {}", index));
    patients.push_back(*std::move(found[index]));
  }
  return patients;
}

std::string shape_text(const NpyArray& array) {
  return fmt::format("{}{} ({})",
                     array.kind == 'f'   ? "float"
                     : array.kind == 'u' ? "uint"
                                         : "int",
                     8 * array.item_size, fmt::join(array.shape, ", "));
}

NpyArray open_array(const fs::path& path, char kind, const std::vector<std::int64_t>& shape,
                    std::string_view what) {
  NpyArray array = [&] {
    try {
      return open_npy(path);
    } catch (const base::DataError& error) {
      throw base::DataError(fmt::format("{}; {}", error.what(), kPrepareAgain));
    }
  }();
  if (array.kind != kind || array.item_size != 2 || array.shape != shape)
    throw base::DataError(fmt::format("{}: holds {}, expected {}16 ({}) by {}; {}", array.name,
                                      shape_text(array), kind == 'u' ? "uint" : "int",
                                      fmt::join(shape, ", "), what, kPrepareAgain));
  return array;
}

}  // namespace

CtSet open_ct_set(const fs::path& folder, std::string_view split,
                  std::optional<std::int64_t> side) {
  CtSet set;
  std::string problem;
  try {
    const nlohmann::json manifest = read_manifest(folder);
    const auto sides = manifest.at("sides").get<std::vector<std::int64_t>>();
    if (sides.empty()) throw base::JsonError("it names no sides");
    set.largest_side = sides.front();
    set.side = side.value_or(set.largest_side);
    const std::size_t place = place_of_side(folder, sides, set.side);
    set.fov_mm = manifest.at("fov_mm");
    if (!(set.fov_mm > 0) || !std::isfinite(set.fov_mm) || set.largest_side % set.side != 0)
      throw base::JsonError("its cubes have no size");
    if (manifest.contains("xrays")) set.xray_size = manifest.at("xrays").at("size");
    require_different_patients(manifest);
    set.patients = patients_of(manifest, split, place);
  } catch (const base::JsonError& error) {
    problem = error.what();
  } catch (const nlohmann::json::exception& error) {
    problem = error.what();
  } catch (const base::FileError& error) {
    throw base::DataError(error.what());
  }
  if (!problem.empty())
    throw base::DataError(fmt::format("{}: cannot be read: {}; {}",
                                      (folder / kCtManifestName).string(), problem, kMakeAllAgain));
  if (set.patients.empty())
    throw AbsentPartError(
        fmt::format("{}: has no patient in its split {}", folder.string(), split));
  set.cubes = open_array(folder / split / fmt::format("volume_{}.npy", set.side), 'i',
                         {std::ssize(set.patients), set.side, set.side, set.side}, kCtManifestName);
  return set;
}

std::vector<std::int64_t> xray_sizes_in(const fs::path& split_folder) {
  constexpr std::string_view kBegin = "xrays_";
  constexpr std::string_view kEnd = ".npy";
  std::vector<std::int64_t> sizes;
  std::error_code error;
  for (fs::directory_iterator entry(split_folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(kBegin) || !name.ends_with(kEnd)) continue;
    std::int64_t size = 0;
    const char* const digits_end = name.data() + name.size() - kEnd.size();
    const auto [behind, problem] = std::from_chars(name.data() + kBegin.size(), digits_end, size);
    if (problem == std::errc() && behind == digits_end && size > 0) sizes.push_back(size);
  }
  std::ranges::sort(sizes);
  return sizes;
}

NpyArray open_xrays(const fs::path& split_folder, std::int64_t size, std::size_t num_patients,
                    std::size_t num_views) {
  const fs::path path = split_folder / fmt::format("xrays_{}.npy", size);
  const std::vector<std::int64_t> shape{static_cast<std::int64_t>(num_patients),
                                        static_cast<std::int64_t>(num_views), size, size};
  NpyArray array = open_npy(path);
  if (array.shape.size() == 4 && array.shape[1] != shape[1])
    throw base::DataError(
        fmt::format("{}: holds {} views of each patient, but data.geometry.angles names {}: write "
                    "the angle of each view of the files",
                    path.string(), array.shape[1], num_views));
  return open_array(path, 'u', shape, "the volumes beside it");
}

volume::Affine affine_of_side(const volume::Affine& affine, std::int64_t largest_side,
                              std::int64_t side) {
  const double factor = static_cast<double>(largest_side) / static_cast<double>(side);
  volume::Affine scaled = affine;
  for (auto& row : scaled) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      row[3] += row[axis] * (factor - 1) / 2;
      row[axis] *= factor;
    }
  }
  return scaled;
}

}  // namespace paceline::data
