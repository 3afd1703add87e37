#include "paceline/dataset_tools/ct/ct_arrays.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <span>

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

using ValuesOfPatient =
    std::function<std::string_view(const CtPatient& patient, std::size_t array)>;

/// A finished array and where it belongs.
struct ArrayMove {
  fs::path from;
  fs::path to;
};

/// Writes those of one split into `scratch`, and removes them where there is no patient.
std::vector<ArrayMove> write_split(base::FileSystem& files, const fs::path& folder,
                                   const fs::path& scratch, const CtManifest& manifest,
                                   PatientSplit split, const ValuesOfPatient& values) {
  const std::vector<const CtPatient*> patients = patients_of(manifest, split);
  std::vector<ArrayMove> moves;
  std::vector<std::unique_ptr<base::OutputFile>> arrays;
  for (const CtArrayLayout& layout : ct_array_layouts(manifest.settings)) {
    const fs::path path = ct_array_path(folder, split, layout.name);
    if (patients.empty()) {
      files.remove_all(path);
      continue;
    }
    std::vector<std::int64_t> shape{std::ssize(patients)};
    shape.insert(shape.end(), layout.sizes.begin(), layout.sizes.end());
    moves.push_back({scratch / fmt::format("{}-{}.npy", name_of(split), layout.name), path});
    arrays.push_back(files.create(moves.back().from));
    arrays.back()->write(data::npy_header(fmt::format("<{}2", layout.kind), shape));
  }
  for (const CtPatient* const patient : patients)
    for (std::size_t array = 0; array < arrays.size(); ++array)
      arrays[array]->write(values(*patient, array));
  for (const auto& array : arrays) {
    array->sync();
    array->close();
  }
  return moves;
}

void remove_others(base::FileSystem& files, const fs::path& folder, const CtManifest& manifest,
                   const std::vector<CtArrayLayout>& old) {
  const std::vector<CtArrayLayout> layouts = ct_array_layouts(manifest.settings);
  for (const CtArrayLayout& layout : old) {
    if (std::ranges::find(layouts, layout.name, &CtArrayLayout::name) != layouts.end()) continue;
    for (const PatientSplit split : kPatientSplits)
      files.remove_all(ct_array_path(folder, split, layout.name));
  }
}

}  // namespace

fs::path ct_array_path(const fs::path& folder, PatientSplit split, const std::string& name) {
  return folder / name_of(split) / (name + ".npy");
}

CtArrays::CtArrays(const fs::path& folder, const CtSettings& settings)
    : layouts_(ct_array_layouts(settings)) {
  for (const PatientSplit split : kPatientSplits) {
    for (std::size_t i = 0; i < layouts_.size(); ++i) {
      try {
        data::NpyArray array = data::open_npy(ct_array_path(folder, split, layouts_[i].name));
        if (array.kind == layouts_[i].kind && array.item_size == 2 && !array.shape.empty() &&
            std::ranges::equal(std::span(array.shape).subspan(1), layouts_[i].sizes))
          arrays_.emplace(std::pair(split, i), std::move(array));
      } catch (const base::DataError&) {
        // What it held is made again.
      }
    }
  }
}

std::optional<std::string_view> CtArrays::find(const CtPatient& patient, std::size_t place) const {
  const auto found = arrays_.find({patient.split, place});
  if (found == arrays_.end()) return std::nullopt;
  const data::NpyArray& array = found->second;
  if (patient.index < 0 || patient.index >= array.shape[0]) return std::nullopt;
  const std::uint64_t size = bytes_of(layouts_[place]);
  const auto bytes = array.bytes.subspan(static_cast<std::uint64_t>(patient.index) * size, size);
  return std::string_view(reinterpret_cast<const char*>(bytes.data()),  // NOLINT: to be hashed
                          bytes.size());
}

bool CtArrays::holds(const CtPatient& patient) const {
  if (patient.hashes.size() != layouts_.size()) return false;
  for (std::size_t place = 0; place < layouts_.size(); ++place) {
    const auto bytes = find(patient, place);
    if (!bytes || base::xxh3_128_hex(*bytes) != patient.hashes[place]) return false;
  }
  return true;
}

bool CtArrays::are_those_of(const CtManifest& manifest) const {
  for (const PatientSplit split : kPatientSplits) {
    const std::int64_t rows = std::ssize(patients_of(manifest, split));
    for (std::size_t place = 0; place < layouts_.size(); ++place) {
      const auto found = arrays_.find({split, place});
      if ((found == arrays_.end() ? 0 : found->second.shape[0]) != rows) return false;
    }
  }
  return true;
}

std::string_view CtArrays::values(const CtPatient& patient, std::size_t array) const {
  const auto bytes = find(patient, array);
  PACELINE_CHECK(bytes.has_value(), "nothing of patient {} is here", patient.code);
  return *bytes;
}

void write_ct_arrays(base::FileSystem& files, const fs::path& folder, const CtManifest& manifest,
                     const std::vector<CtArrayLayout>& old, const ValuesOfPatient& values) {
  const fs::path scratch = folder / kCtWorkFolder / "arrays";
  files.remove_all(scratch);
  base::create_durable_directories(files, scratch);
  std::vector<ArrayMove> moves;
  for (const PatientSplit split : kPatientSplits)
    std::ranges::move(write_split(files, folder, scratch, manifest, split, values),
                      std::back_inserter(moves));
  for (const auto& [from, to] : moves) {
    base::create_durable_directories(files, to.parent_path());
    files.rename(from, to);
    files.sync_directory(to.parent_path());
  }
  remove_others(files, folder, manifest, old);
  // Made in the work folder, so that nothing half done stays behind elsewhere.
  base::write_file_atomically(files, scratch / kCtManifestName, to_json(manifest));
  files.rename(scratch / kCtManifestName, folder / kCtManifestName);
  files.sync_directory(folder);
}

}  // namespace paceline::dataset_tools
