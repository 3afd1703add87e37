#include "paceline/data/pack/manifest.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/json.h"
#include "paceline/data/pack/shard_format.h"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace paceline::data {
namespace {

constexpr const char* kFormat = "paceline packed data set";

/// Of manifests with fields, which those who read version 1 alone do not know.
constexpr int kVersionWithFields = 2;

std::vector<FieldSpec> fields_from(const nlohmann::json& json) {
  std::vector<FieldSpec> fields;
  for (const nlohmann::json& field : json) {
    const std::string type = field.at("type");
    const auto known = field_type_named(type);
    if (!known) throw base::DataError(fmt::format("a field of type \"{}\"", type));
    fields.push_back({field.at("name"), *known, field.at("sizes")});
    if (std::ranges::any_of(fields.back().sizes, [](std::int64_t size) { return size < 0; }))
      throw base::DataError(fmt::format("field {} has a negative size", fields.back().name));
    if (is_too_large(fields.back()))
      throw base::DataError(fmt::format("field {} takes 4 GiB or more", fields.back().name));
  }
  return fields;
}

PackManifest from_json(const nlohmann::json& json) {
  if (json.at("format") != kFormat) throw base::DataError("\"format\" is not that of a packed set");
  PackManifest manifest;
  const int version = json.at("version");
  if (version == kVersionWithFields) {
    manifest.fields = fields_from(json.at("fields"));
  } else if (version != static_cast<int>(kShardVersion)) {
    throw base::DataError(
        fmt::format("version {} of the packed format; this paceline reads {} and "
                    "{}",
                    version, kShardVersion, kVersionWithFields));
  }
  manifest.mode = json.at("mode");
  manifest.source_fingerprint = json.at("source").at("fingerprint");
  manifest.num_source_samples = json.at("source").at("samples");
  manifest.classes = json.at("classes").get<std::vector<std::string>>();
  for (const nlohmann::json& shard : json.at("shards")) {
    manifest.shards.push_back(
        {.num_samples = shard.at("samples"),
         .size_bytes = shard.at("bytes"),
         .hash = std::stoull(shard.at("hash").get<std::string>(), nullptr, 16)});
  }
  return manifest;
}

}  // namespace

std::int64_t PackManifest::num_samples() const {
  std::int64_t sum = 0;
  for (const Shard& shard : shards) sum += shard.num_samples;
  return sum;
}

std::string shard_name(std::int64_t number) { return fmt::format("shard-{:05}.pack", number); }

std::string to_json(const PackManifest& manifest) {
  nlohmann::ordered_json json{
      {"format", kFormat},
      {"version", manifest.fields.empty() ? static_cast<int>(kShardVersion) : kVersionWithFields},
      {"mode", manifest.mode},
      {"samples", manifest.num_samples()},
      {"source",
       {{"fingerprint", manifest.source_fingerprint}, {"samples", manifest.num_source_samples}}},
      {"classes", manifest.classes}};
  for (const FieldSpec& field : manifest.fields) {
    json["fields"].push_back(
        {{"name", field.name}, {"type", name_of(field.type)}, {"sizes", field.sizes}});
  }
  json["shards"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < manifest.shards.size(); ++i) {
    const PackManifest::Shard& shard = manifest.shards[i];
    json["shards"].push_back({{"file", shard_name(static_cast<std::int64_t>(i))},
                              {"samples", shard.num_samples},
                              {"bytes", shard.size_bytes},
                              {"hash", fmt::format("{:016x}", shard.hash)}});
  }
  return json.dump(1) + "\n";
}

PackManifest read_pack_manifest(const std::filesystem::path& folder,
                                const std::shared_ptr<const Storage>& storage) {
  const std::filesystem::path path = folder / kPackManifestName;
  if (!storage->facts(path.string())) {
    throw base::DataError(fmt::format(
        "{}: there is no {}: not a packed data set, or one whose packing has not ended; `paceline "
        "data pack` makes and completes them",
        folder.string(), kPackManifestName));
  }
  const std::string text = read_text(*storage, path.string());
  try {
    return from_json(base::parse_json(text));
  } catch (const std::exception& error) {  // JSON of another shape, numbers that are none
    throw base::DataError(fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace paceline::data
