#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/file_dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/pack/manifest.h"
#include "paceline/data/pack/shard_reader.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/read_ahead.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// A packed data set: the samples, labels, names and order of the one that it was packed from.
class PackedDataset final : public FileDataset {
 public:
  /// `folder` holds manifest.json. Verifies all indexes. Throws DataError.
  explicit PackedDataset(const std::filesystem::path& folder,
                         const std::shared_ptr<const Storage>& storage = local_storage());
  PackedDataset(const PackedDataset&) = delete;
  PackedDataset& operator=(const PackedDataset&) = delete;

  std::int64_t size() const override { return begins_.back(); }
  int num_classes() const override { return static_cast<int>(manifest_.classes.size()); }
  std::vector<std::string> class_names() const override { return manifest_.classes; }
  std::int64_t label(std::int64_t index) const override;
  void get(std::int64_t index, StoredSample& sample) const override;
  std::vector<FieldSpec> stored_fields() const override { return manifest_.fields; }
  std::string name(std::int64_t index) const override;
  std::string describe(std::int64_t index) const override;
  std::string fingerprint() const override;

  const PackManifest& manifest() const { return manifest_; }

 private:
  struct Place {
    const ShardReader& shard;
    std::int64_t index;
    std::size_t shard_number;
  };
  Place place_of(std::int64_t index) const;
  ReadAhead& ahead() const override { return *read_ahead_; }
  std::optional<ReadAheadPart> part_of(std::int64_t index) const override;

  std::shared_ptr<const Storage> storage_;
  PackManifest manifest_;
  std::vector<ShardReader> shards_;
  std::vector<std::int64_t> begins_;  ///< each shard's first sample, and the number of all
  std::unique_ptr<ReadAhead> read_ahead_;
};

struct PackedConfig {
  std::string path;
  std::string train_folder = "train";
  std::string val_folder = "val";
};

/// Opens one split. Throws DataError if files are missing or wrong, ConfigError without a path.
std::unique_ptr<Dataset> open(const PackedConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const PackedConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::PackedConfig> {
  using Config = data::PackedConfig;
  static constexpr std::string_view name = "packed";
  static constexpr std::string_view summary =
      "What `paceline data pack` writes: samples in verified shards.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder that holds the training and validation folders.",
            Path{}, MayChangeOnResume{}),
      field(&Config::train_folder, "train_folder", "Name of the training folder."),
      field(&Config::val_folder, "val_folder", "Name of the validation folder.")};
};
