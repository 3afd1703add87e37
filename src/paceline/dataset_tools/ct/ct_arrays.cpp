#include "paceline/dataset_tools/ct/ct_arrays.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/dataset_tools/ct/ct_part.h"

#include <array>
#include <memory>

#include <fmt/format.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

std::vector<const CtPatient*> patients_of(const CtManifest& manifest, PatientSplit split) {
  std::vector<const CtPatient*> patients;
  for (const CtPatient& patient : manifest.patients)
    if (patient.split == split) patients.push_back(&patient);
  return patients;
}

}  // namespace

fs::path ct_array_path(const fs::path& folder, PatientSplit split, std::int64_t side) {
  return folder / name_of(split) / fmt::format("volume_{}.npy", side);
}

CtArrays::CtArrays(const fs::path& folder, const CtSettings& settings) : settings_(settings) {
  for (const PatientSplit split : kPatientSplits) {
    for (std::size_t side = 0; side < settings.sides.size(); ++side) {
      try {
        data::NpyArray array = data::open_npy(ct_array_path(folder, split, settings.sides[side]));
        const std::int64_t voxels = settings.sides[side];
        if (array.kind == 'i' && array.item_size == 2 && array.shape.size() == 4 &&
            array.shape == std::vector{array.shape[0], voxels, voxels, voxels})
          arrays_.emplace(std::pair(split, side), std::move(array));
      } catch (const base::DataError&) {
        // What it held is made again.
      }
    }
  }
}

std::optional<std::string_view> CtArrays::find(const CtPatient& patient, std::size_t side) const {
  const auto found = arrays_.find({patient.split, side});
  if (found == arrays_.end()) return std::nullopt;
  const data::NpyArray& array = found->second;
  if (patient.index < 0 || patient.index >= array.shape[0]) return std::nullopt;
  const std::uint64_t size = cube_bytes(settings_.sides[side]);
  const auto bytes = array.bytes.subspan(static_cast<std::uint64_t>(patient.index) * size, size);
  return std::string_view(reinterpret_cast<const char*>(bytes.data()),  // NOLINT: to be hashed
                          bytes.size());
}

bool CtArrays::holds(const CtPatient& patient) const {
  if (patient.hashes.size() != settings_.sides.size()) return false;
  for (std::size_t side = 0; side < settings_.sides.size(); ++side) {
    const auto bytes = find(patient, side);
    if (!bytes || base::xxh3_128_hex(*bytes) != patient.hashes[side]) return false;
  }
  return true;
}

bool CtArrays::are_those_of(const CtManifest& manifest) const {
  for (const PatientSplit split : kPatientSplits) {
    const std::int64_t rows = std::ssize(patients_of(manifest, split));
    for (std::size_t side = 0; side < settings_.sides.size(); ++side) {
      const auto found = arrays_.find({split, side});
      if ((found == arrays_.end() ? 0 : found->second.shape[0]) != rows) return false;
    }
  }
  return true;
}

std::string_view CtArrays::cube(const CtPatient& patient, std::size_t side) const {
  const auto bytes = find(patient, side);
  PACELINE_CHECK(bytes.has_value(), "patient {} has no cube here", patient.code);
  return *bytes;
}

void write_ct_arrays(
    base::FileSystem& files, const fs::path& folder, const CtManifest& manifest,
    const std::function<std::string_view(const CtPatient& patient, std::size_t side)>& cube) {
  const fs::path scratch = folder / kCtWorkFolder / "arrays";
  files.remove_all(scratch);
  base::create_durable_directories(files, scratch);
  std::vector<std::pair<fs::path, fs::path>> renames;
  for (const PatientSplit split : kPatientSplits) {
    const std::vector<const CtPatient*> patients = patients_of(manifest, split);
    std::vector<std::unique_ptr<base::OutputFile>> arrays;
    for (const std::int64_t side : manifest.settings.sides) {
      const fs::path path = ct_array_path(folder, split, side);
      if (patients.empty()) {
        files.remove_all(path);
        continue;
      }
      renames.emplace_back(scratch / fmt::format("{}-{}.npy", name_of(split), side), path);
      arrays.push_back(files.create(renames.back().first));
      arrays.back()->write(
          data::npy_header("<i2", std::array{std::ssize(patients), side, side, side}));
    }
    for (const CtPatient* const patient : patients)
      for (std::size_t side = 0; side < arrays.size(); ++side)
        arrays[side]->write(cube(*patient, side));
    for (const auto& array : arrays) {
      array->sync();
      array->close();
    }
  }
  for (const auto& [from, to] : renames) {
    base::create_durable_directories(files, to.parent_path());
    files.rename(from, to);
    files.sync_directory(to.parent_path());
  }
  // Made in the work folder, so that nothing half done stays behind elsewhere.
  base::write_file_atomically(files, scratch / kCtManifestName, to_json(manifest));
  files.rename(scratch / kCtManifestName, folder / kCtManifestName);
  files.sync_directory(folder);
}

}  // namespace paceline::dataset_tools
