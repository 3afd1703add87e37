#include "paceline/data/pack/packed_dataset.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/sources/dataset_place.h"

#include <algorithm>
#include <optional>

namespace paceline::data {
namespace {

/// Samples of arrays need have no classes.
void check_label(const ShardReader& shard, std::int64_t index, const PackManifest& manifest) {
  const std::uint32_t label = shard.record(index).label;
  const std::size_t num_classes = manifest.classes.size();
  if (label < num_classes || (num_classes == 0 && !manifest.fields.empty())) return;
  throw base::DataError(fmt::format("{}: its label is {}, but the manifest has {} classes",
                                    shard.describe(index), label, num_classes));
}

void check_payload(const ShardReader& shard, std::int64_t index, const PackManifest& manifest) {
  const ShardRecord& record = shard.record(index);
  const bool has_fields = record.kind == PayloadKind::kFields;
  const std::size_t expected = sample_bytes(manifest.fields);
  if (has_fields != manifest.fields.empty() && (!has_fields || record.size == expected)) return;
  throw base::DataError(
      fmt::format("{}: its {} bytes are not the fields that the manifest lists; "
                  "pack it again",
                  shard.describe(index), record.size));
}

/// Shards beyond these are opened for each read.
constexpr std::int64_t kMaxOpenShards = 256;

ShardReader open_remote_shard(const std::filesystem::path& path, const Storage& storage) {
  const std::shared_ptr<const InputFile> file = storage.open(path.string());
  try {
    return ShardReader(file, false);
  } catch (const DamagedShard&) {  // on its way?
    return ShardReader(file, true);
  }
}

ShardReader open_shard(const std::filesystem::path& path, const PackManifest::Shard& expected,
                       const PackManifest& manifest, bool stays_open, const Storage& storage) {
  ShardReader shard =
      is_remote(path) ? open_remote_shard(path, storage) : ShardReader(path, stays_open);
  if (shard.hash() != expected.hash || shard.num_samples() != expected.num_samples ||
      shard.size_bytes() != expected.size_bytes) {
    throw base::DataError(fmt::format("{}: not the shard that {} lists; copy or pack it again",
                                      path.string(), kPackManifestName));
  }
  for (std::int64_t i = 0; i < shard.num_samples(); ++i) {
    check_label(shard, i, manifest);
    check_payload(shard, i, manifest);
  }
  return shard;
}

}  // namespace

PackedDataset::PackedDataset(const std::filesystem::path& folder,
                             const std::shared_ptr<const Storage>& storage)
    : storage_(storage), manifest_(read_pack_manifest(folder, storage)) {
  const auto count = std::ssize(manifest_.shards);
  std::vector<std::optional<ShardReader>> opened(manifest_.shards.size());
  const int num_threads = is_remote(folder) ? storage->num_connections() : 0;
  base::parallel_for(count, num_threads, [&](std::int64_t i) {
    const auto at = static_cast<std::size_t>(i);
    opened[at].emplace(open_shard(folder / shard_name(i), manifest_.shards[at], manifest_,
                                  i < kMaxOpenShards, *storage));
  });
  begins_.push_back(0);
  for (std::optional<ShardReader>& shard : opened) {
    begins_.push_back(begins_.back() + shard->num_samples());
    shards_.push_back(*std::move(shard));
  }
  read_ahead_ = read_ahead_from(*storage, folder,
                                [this](std::uint64_t shard) { return shards_[shard].open(); });
}

PackedDataset::Place PackedDataset::place_of(std::int64_t index) const {
  const auto shard = std::upper_bound(begins_.begin(), begins_.end(), index) - begins_.begin() - 1;
  const auto at = static_cast<std::size_t>(shard);
  return {shards_[at], index - begins_[at], at};
}

std::int64_t PackedDataset::label(std::int64_t index) const {
  const Place place = place_of(index);
  return place.shard.record(place.index).label;
}

void PackedDataset::get(std::int64_t index, StoredSample& sample) const {
  const Place place = place_of(index);
  if (read_ahead_->take(index, sample.bytes) && place.shard.accept(place.index, sample)) return;
  const TimedRead timed(*read_ahead_);
  place.shard.read(place.index, sample);
}

std::optional<ReadAheadPart> PackedDataset::part_of(std::int64_t index) const {
  const Place place = place_of(index);
  const ShardRecord& record = place.shard.record(place.index);
  return ReadAheadPart{
      .key = index, .file = place.shard_number, .offset = record.offset, .size = record.size};
}

std::string PackedDataset::name(std::int64_t index) const {
  const Place place = place_of(index);
  return std::string(place.shard.name(place.index));
}

std::string PackedDataset::describe(std::int64_t index) const {
  const Place place = place_of(index);
  return place.shard.describe(place.index);
}

std::string PackedDataset::fingerprint() const {
  std::string text;
  for (const std::string& name : manifest_.classes) text += name + '\n';
  for (const PackManifest::Shard& shard : manifest_.shards)
    text += fmt::format("{:016x}\n", shard.hash);
  return base::xxh3_128_hex(text);
}

std::unique_ptr<Dataset> open(const PackedConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  const std::filesystem::path place = place_of(config.path, "packed");
  const std::string folder = folder_of(config.train_folder, config.val_folder, split);
  if (!is_folder(*storage, place / folder) && is_folder(*storage, place)) {
    throw AbsentPartError(fmt::format(
        "{}: no such folder; expected what `paceline data pack` writes, with its manifest.json",
        (place / folder).string()));
  }
  return std::make_unique<PackedDataset>(place / folder, storage);
}

std::unique_ptr<DatasetPlan> make(const PackedConfig& config) {
  auto plan = plan_of(config, photo_transforms());
  plan->may_store_fields = true;
  return plan;
}

}  // namespace paceline::data
