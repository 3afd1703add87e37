#pragma once

#include "paceline/data/dataset/field.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace paceline::data {

/// What manifest.json of a packed data set says. It is written last: a folder that has one is
/// complete.
struct PackManifest {
  struct Shard {
    std::int64_t num_samples = 0;
    std::uint64_t size_bytes = 0;
    std::uint64_t hash = 0;  ///< ShardReader::hash()
    friend bool operator==(const Shard&, const Shard&) = default;
  };

  std::vector<std::string> classes;  ///< by label
  std::vector<FieldSpec> fields;     ///< of samples of arrays; none: they are images
  std::vector<Shard> shards;
  std::string source_fingerprint;
  std::int64_t num_source_samples = 0;
  std::string mode;

  std::int64_t num_samples() const;
  friend bool operator==(const PackManifest&, const PackManifest&) = default;
};

inline constexpr const char* kPackManifestName = "manifest.json";

/// "shard-00007.pack".
std::string shard_name(std::int64_t number);

std::string to_json(const PackManifest& manifest);
/// Reads FOLDER/manifest.json. Throws DataError that names the file and what is wrong with it.
PackManifest read_pack_manifest(const std::filesystem::path& folder,
                                const std::shared_ptr<const Storage>& storage = local_storage());

}  // namespace paceline::data
