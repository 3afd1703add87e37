#include "paceline/dataset_tools/ct/ct_manifest.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/json.h"

#include <cmath>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace paceline::dataset_tools {
namespace {

constexpr std::int64_t kMostVoxelsOfASide = 1024;  ///< a cube stays below 4 GiB
constexpr double kLargestFovMm = 10000;
constexpr std::int64_t kMostPixelsOfASide = 8192;

nlohmann::ordered_json json_of(const CtSettings& settings) {
  nlohmann::ordered_json json{
      {"fov_mm", settings.fov_mm}, {"sides", settings.sides}, {"seed_mark", settings.seed_mark}};
  if (settings.xrays)
    json["xrays"] = {{"views", kCtViewNames},
                     {"size", settings.xrays->size},
                     {"flip_vertically", settings.xrays->flip_vertically}};
  return json;
}

std::optional<CtXraySettings> xrays_of(const nlohmann::json& json) {
  if (!json.contains("xrays")) return std::nullopt;
  const nlohmann::json& xrays = json.at("xrays");
  if (xrays.at("views") != kCtViewNames)
    throw base::DataError(fmt::format("X-rays of the views {}", xrays.at("views").dump()));
  return CtXraySettings{.size = xrays.at("size"), .flip_vertically = xrays.at("flip_vertically")};
}

nlohmann::ordered_json json_of(const CtPatient& patient) {
  return {{"patient", patient.code},  {"split", name_of(patient.split)},
          {"index", patient.index},   {"source", patient.source},
          {"sizes", patient.sizes},   {"spacing_mm", patient.spacing_mm},
          {"affine", patient.affine}, {"hashes", patient.hashes}};
}

PatientSplit split_named(const std::string& name) {
  for (const PatientSplit split : kPatientSplits)
    if (name == name_of(split)) return split;
  throw base::DataError(fmt::format("a split of the name \"{}\"", name));
}

CtPatient patient_of(const nlohmann::json& json) {
  return {.code = json.at("patient"),
          .split = split_named(json.at("split")),
          .index = json.at("index"),
          .source = json.at("source"),
          .sizes = json.at("sizes"),
          .spacing_mm = json.at("spacing_mm"),
          .affine = json.at("affine"),
          .hashes = json.at("hashes")};
}

/// Earlier manifests hold the seed itself.
std::string seed_mark_of(const nlohmann::json& json) {
  if (json.contains("seed")) return seed_mark(json.at("seed"));
  return json.at("seed_mark");
}

CtManifest manifest_of(const nlohmann::json& json) {
  if (json.at("format") != data::kCtFormat || json.at("version") != data::kCtVersion)
    throw base::DataError("it is that of something else, or of another version");
  CtManifest manifest{.settings = {.fov_mm = json.at("fov_mm"),
                                   .sides = json.at("sides").get<std::vector<std::int64_t>>(),
                                   .seed_mark = seed_mark_of(json),
                                   .xrays = xrays_of(json)},
                      .patients = {},
                      .tells_seed = json.contains("seed")};
  for (const nlohmann::json& patient : json.at("patients"))
    manifest.patients.push_back(patient_of(patient));
  return manifest;
}

}  // namespace

void check_settings(const CtSettings& settings) {
  if (!(settings.fov_mm > 0) || settings.fov_mm > kLargestFovMm)
    throw base::ConfigError(fmt::format("a cube of {} mm; expected more than 0 and at most {}",
                                        settings.fov_mm, kLargestFovMm));
  if (settings.sides.empty()) throw base::ConfigError("cubes of no side; name one, as 64");
  std::int64_t before = settings.sides[0];
  if (before < 1 || before > kMostVoxelsOfASide)
    throw base::ConfigError(
        fmt::format("a cube of {} voxels a side; expected 1 to {}", before, kMostVoxelsOfASide));
  for (const std::int64_t side : std::span(settings.sides).subspan(1)) {
    std::int64_t halved = before;
    while (halved > side && halved % 2 == 0) halved /= 2;
    if (side < 1 || side == before || halved != side)
      throw base::ConfigError(
          fmt::format("cubes of {} voxels a side; expected each to be the one before it, halved "
                      "once or more often, as 256, 128, 64",
                      fmt::join(settings.sides, ", ")));
    before = side;
  }
  if (settings.xrays && (settings.xrays->size < 1 || settings.xrays->size > kMostPixelsOfASide))
    throw base::ConfigError(fmt::format("X-rays of {} pixels a side; expected 1 to {}",
                                        settings.xrays->size, kMostPixelsOfASide));
}

std::string to_json(const CtSettings& settings) { return json_of(settings).dump(); }
std::string to_json(const CtPatient& patient) { return json_of(patient).dump(); }

std::string to_json(const CtManifest& manifest) {
  nlohmann::ordered_json json{{"format", data::kCtFormat}, {"version", data::kCtVersion}};
  json.update(json_of(manifest.settings));
  json["patients"] = nlohmann::ordered_json::array();
  for (const CtPatient& patient : manifest.patients) json["patients"].push_back(json_of(patient));
  return json.dump(1) + "\n";
}

CtPatient ct_patient_from_json(std::string_view text) {
  try {
    return patient_of(base::parse_json(text));
  } catch (const nlohmann::json::exception& error) {
    throw base::DataError(error.what());
  }
}

std::optional<CtManifest> read_ct_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kCtManifestName;
  if (!std::filesystem::exists(path)) return std::nullopt;
  std::string problem;
  try {
    return manifest_of(base::parse_json(base::read_file(path)));
  } catch (const base::DataError& error) {
    problem = error.what();
  } catch (const nlohmann::json::exception& error) {
    problem = error.what();
  }
  throw base::DataError(
      fmt::format("{}: cannot be read: {}; remove it, and all volumes are made again, or name "
                  "another folder",
                  path.string(), problem));
}

}  // namespace paceline::dataset_tools
