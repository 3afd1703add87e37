#include "paceline/dataset_tools/ct/xray_patients.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/data/sources/ct/ct_dataset.h"
#include "paceline/dataset_tools/ct/ct_listing.h"
#include "paceline/dataset_tools/ct/xray_views.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

#include <fmt/ranges.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

/// Without the slash that a word may end in.
fs::path folder_of(const fs::path& word) {
  const fs::path plain = fs::absolute(word).lexically_normal();
  return plain.has_filename() ? plain : plain.parent_path();
}

/// The views that a folder holds of the patient of its name; an empty path where there is none.
XrayPatient patient_in(const fs::path& folder, std::span<const double> angles) {
  XrayPatient patient{.name = folder.filename().string()};
  const auto entries = visible_entries(folder, folder.string());
  for (const double angle : angles)
    patient.views.push_back(find_view(entries, patient.name, angle, folder.string()));
  return patient;
}

bool has_a_view(const XrayPatient& patient) {
  return !std::ranges::all_of(patient.views, &fs::path::empty);
}

void require_all_views(const XrayPatient& patient, const fs::path& folder,
                       std::span<const double> angles) {
  const auto missing = std::ranges::find(patient.views, fs::path()) - patient.views.begin();
  if (missing == std::ssize(patient.views)) return;
  const double angle = angles[static_cast<std::size_t>(missing)];
  throw base::DataError(fmt::format(
      "{} has no {} X-ray; expected {}, where ID is the folder's name; add it, or take the folder "
      "away",
      folder.string(), view_name(angle), expected_view_files(angle)));
}

void add_patients_in(const fs::path& folder, std::span<const double> angles,
                     std::vector<XrayPatient>& patients) {
  if (XrayPatient own = patient_in(folder, angles); has_a_view(own)) {
    require_all_views(own, folder, angles);
    patients.push_back(std::move(own));
    return;
  }
  const std::size_t before = patients.size();
  for (const fs::path& entry : visible_entries(folder, folder.string())) {
    std::error_code error;
    if (!fs::is_directory(entry, error)) continue;
    patients.push_back(patient_in(entry, angles));
    require_all_views(patients.back(), entry, angles);
  }
  if (patients.size() > before) return;
  throw base::DataError(
      fmt::format("{}: holds no patients; expected a folder ID of each with its X-rays, {}",
                  folder.string(), expected_view_files(angles.front())));
}

}  // namespace

std::vector<XrayPatient> list_xray_patients(std::span<const fs::path> folders,
                                            std::span<const double> angles) {
  std::vector<XrayPatient> patients;
  for (const fs::path& folder : folders) add_patients_in(folder_of(folder), angles, patients);
  std::ranges::sort(patients, {}, &XrayPatient::name);
  const auto twice = std::ranges::adjacent_find(patients, {}, &XrayPatient::name);
  if (twice == patients.end()) return patients;
  throw base::DataError(fmt::format(
      "two folders are called {}: {} and {}; predict one after the other", twice->name,
      twice->views[0].parent_path().string(), std::next(twice)->views[0].parent_path().string()));
}

XrayPatient xray_patient(const std::map<double, fs::path>& views, std::span<const double> angles) {
  std::vector<std::string> names;
  for (const double angle : angles) names.push_back(view_name(angle));
  const std::string expected = fmt::format("{}=FILE", fmt::join(names, "=FILE "));
  for (const auto& [angle, path] : views) {
    if (std::ranges::find(angles, angle) == angles.end())
      throw base::ConfigError(fmt::format("{}={}: the network sees no {} view; name its views: {}",
                                          view_name(angle), path.string(), view_name(angle),
                                          expected));
  }
  XrayPatient patient{.name = "patient"};
  for (const double angle : angles) {
    const auto found = views.find(angle);
    if (found == views.end())
      throw base::ConfigError(
          fmt::format("the {} X-ray is missing; name all views of the network: "
                      "{}",
                      view_name(angle), expected));
    patient.views.push_back(found->second);
  }
  return patient;
}

XrayPatients::XrayPatients(std::vector<XrayPatient> patients, Form form)
    : patients_(std::move(patients)), form_(std::move(form)) {
  base::Xxh3Stream hash;
  for (std::int64_t index = 0; index < size(); ++index) {
    const std::vector<std::uint16_t> xrays = read(index);
    hash.update(patient(index).name);
    hash.update({reinterpret_cast<const char*>(xrays.data()),  // NOLINT: to be hashed
                 xrays.size() * sizeof(std::uint16_t)});
  }
  fingerprint_ = fmt::format("xrays:{}:{}:{:016x}", size(), form_.settings.size, hash.digest());
}

std::vector<std::uint16_t> XrayPatients::read(std::int64_t index) const {
  std::vector<std::uint16_t> xrays;
  for (const fs::path& path : patient(index).views) {
    const auto view = make_xray(path, form_.settings, path.string(), form_.read_dicom);
    xrays.insert(xrays.end(), view.begin(), view.end());
  }
  return xrays;
}

void XrayPatients::get(std::int64_t index, data::StoredSample& sample) const {
  sample.width = 0;
  sample.height = 0;
  sample.label = 0;
  const std::vector<std::uint16_t> xrays = read(index);
  std::vector<float> values;
  values.reserve(xrays.size());
  for (const std::uint16_t value : xrays)
    values.push_back(2 * (static_cast<float>(value) / 65535.0F) - 1);
  sample.bytes.resize(values.size() * sizeof(float));
  std::memcpy(sample.bytes.data(), values.data(), sample.bytes.size());
}

std::vector<data::FieldSpec> XrayPatients::stored_fields() const {
  return {{.name = std::string(data::kXraysField),
           .sizes = {std::ssize(form_.angles), form_.settings.size, form_.settings.size}}};
}

std::string XrayPatients::describe(std::int64_t index) const {
  return patient(index).views.front().parent_path().string();
}

}  // namespace paceline::dataset_tools
