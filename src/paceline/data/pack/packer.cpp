#include "paceline/data/pack/packer.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/codec/image_decoder.h"
#include "paceline/data/codec/jpeg/indexed_file.h"
#include "paceline/data/codec/jpeg/store_coefficients.h"
#include "paceline/data/dataset/read_hints.h"
#include "paceline/data/pack/manifest.h"
#include "paceline/data/pack/shard_reader.h"
#include "paceline/data/pack/shard_writer.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>

#include <nlohmann/json.hpp>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kWantedShards = 64;
constexpr std::int64_t kFewestSamplesPerShard = 256;  // of a small set: a file each is a waste
constexpr std::int64_t kMostSamplesPerShard = 2048;

void check(const Dataset& source, const PackOptions& options) {
  if (options.mode != PackMode::kFiles && !source.stored_fields().empty()) {
    throw base::ConfigError(fmt::format(
        "mode {} is of images, and the samples are arrays, which are packed as they are: leave it "
        "out",
        name_of(options.mode)));
  }
  if (source.has_label_lists()) {
    throw base::ConfigError(
        "the samples have lists of classes, and a packed set keeps one class of each: train on the "
        "data set as it is");
  }
  if (options.num_parts < 1 || options.part < 0 || options.part >= options.num_parts) {
    throw base::ConfigError(
        fmt::format("part {} of {}: parts count from 0 to one below their number", options.part,
                    options.num_parts));
  }
  if (options.samples_per_shard < 0) {
    throw base::ConfigError(
        fmt::format("{} samples per shard: expected 0 or more", options.samples_per_shard));
  }
}

/// Arrays may be large: a shard of them has about a gibibyte at most.
std::int64_t most_samples_per_shard(const Dataset& source) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  const std::size_t bytes = sample_bytes(source.stored_fields());
  if (source.stored_fields().empty() || bytes == 0) return kMostSamplesPerShard;
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(kMostBytes / bytes), 1,
                                  kMostSamplesPerShard);
}

std::int64_t samples_per_shard(const Dataset& source, const PackOptions& options) {
  const std::int64_t most = most_samples_per_shard(source);
  const std::int64_t wanted =
      options.samples_per_shard > 0
          ? options.samples_per_shard
          : std::clamp(source.size() / kWantedShards, std::min(kFewestSamplesPerShard, most), most);
  return std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(1, source.size()));
}

/// Turns stored samples into what a shard holds; one per thread.
class SampleEncoder {
 public:
  SampleEncoder(const PackOptions& options, std::span<const FieldSpec> fields)
      : options_(options), has_fields_(!fields.empty()), fields_bytes_(sample_bytes(fields)) {}

  /// Valid until the next call. Throws DataError.
  PackedSample encode(const StoredSample& stored, std::string_view name) {
    PackedSample packed;
    packed.payload = stored.bytes;
    packed.label = stored.label;
    packed.name = name;
    if (has_fields_) {
      packed.kind = PayloadKind::kFields;
      if (stored.bytes.size() != fields_bytes_)
        throw base::DataError(fmt::format("holds {} bytes, expected {} for its fields",
                                          stored.bytes.size(), fields_bytes_));
      return packed;
    }
    if (stored.width != 0) {  // pixels already
      packed.kind = PayloadKind::kPixels;
      packed.size = {stored.height, stored.width};
      return packed;
    }
    packed.size = decoder_.open(stored.bytes);
    if (convert(stored.bytes)) {
      packed.payload = bytes_;
      return packed;
    }
    const bool as_pixels = options_.mode == PackMode::kPixels;
    if (!as_pixels && !options_.checks_files) return packed;
    const PixelView image = decoder_.decode(whole(packed.size), pixels_);
    if (!as_pixels) return packed;
    packed.kind = PayloadKind::kPixels;
    packed.payload = tightly(image);
    return packed;
  }

 private:
  /// Makes the mode's form of a JPEG file. False for files that have none, and damaged ones.
  bool convert(std::span<const std::uint8_t> file) {
    file = jpeg::without_index(file);
    std::optional<std::vector<std::uint8_t>> converted;
    if (options_.mode == PackMode::kIndexed) converted = jpeg::index_file(file);
    if (options_.mode == PackMode::kCoefficients) converted = jpeg::store_coefficients(file);
    if (!converted) return false;
    bytes_ = *std::move(converted);
    return true;
  }

  /// Rows without gaps.
  std::span<const std::uint8_t> tightly(const PixelView& image) {
    const auto row_bytes = std::size_t{3} * static_cast<std::size_t>(image.size.width);
    bytes_.resize(row_bytes * static_cast<std::size_t>(image.size.height));
    for (int y = 0; y < image.size.height; ++y)
      std::memcpy(bytes_.data() + static_cast<std::size_t>(y) * row_bytes, image.row(y), row_bytes);
    return bytes_;
  }

  const PackOptions& options_;
  bool has_fields_;
  std::size_t fields_bytes_;
  ImageDecoder decoder_;
  PixelBuffer pixels_;
  std::vector<std::uint8_t> bytes_;
};

class Packer {
 public:
  Packer(const Dataset& source, const PackOptions& options, base::FileSystem& files,
         const PackProgress& progress)
      : source_(source),
        options_(options),
        files_(files),
        progress_(progress),
        per_shard_(samples_per_shard(source, options)),
        num_shards_((source.size() + per_shard_ - 1) / per_shard_),
        plan_(base::xxh3(fmt::format("{}\n{}\n{}\n{}", source.fingerprint(), source.size(),
                                     name_of(options.mode), per_shard_))) {}

  PackResult run() {
    check_class_names();
    base::create_durable_directories(files_, options_.folder);
    std::vector<std::int64_t> own;
    for (std::int64_t shard = 0; shard < num_shards_; ++shard) {
      if (open_if_there(shard)) {
        ++result_.found_shards;
      } else if (shard % options_.num_parts == options_.part) {
        own.push_back(shard);
        total_ += end_of(shard) - shard * per_shard_;
      }
    }
    base::parallel_for(std::ssize(own), options_.num_threads,
                       [&](std::int64_t i) { write_shard(own[static_cast<std::size_t>(i)]); });
    result_.written_shards = std::ssize(own);
    write_manifest_if_complete();
    return std::move(result_);
  }

 private:
  /// JSON has room for UTF-8 alone; better to say so now than when all shards are written.
  void check_class_names() const {
    for (const std::string& name : source_.class_names()) {
      try {
        static_cast<void>(nlohmann::json(name).dump());
      } catch (const nlohmann::json::exception&) {
        throw base::DataError(
            fmt::format("class \"{}\": its name is not UTF-8, which manifests are written in; "
                        "rename it",
                        name));
      }
    }
  }

  fs::path path_of(std::int64_t shard) const { return options_.folder / shard_name(shard); }
  std::int64_t end_of(std::int64_t shard) const {
    return std::min(source_.size(), (shard + 1) * per_shard_);
  }

  /// A damaged shard counts as none: it is written anew.
  std::optional<ShardReader> open_if_there(std::int64_t shard) const {
    const fs::path path = path_of(shard);
    if (!fs::exists(path)) return std::nullopt;
    std::optional<ShardReader> reader;
    try {
      reader.emplace(path);
    } catch (const DamagedShard&) {
      return std::nullopt;
    }
    if (reader->plan() == plan_ && reader->number() == static_cast<std::uint32_t>(shard))
      return reader;
    throw base::ConfigError(fmt::format(
        "{} is a shard of another data set, or was packed with other options; name another folder "
        "or remove it",
        path.string()));
  }

  void write_shard(std::int64_t shard) {
    ShardWriter writer(files_, path_of(shard), static_cast<std::uint32_t>(shard), plan_);
    SampleEncoder encoder(options_, source_.stored_fields());
    StoredSample sample;
    constexpr std::int64_t kHintSamples = 128;
    for (std::int64_t i = shard * per_shard_; i < end_of(shard); ++i) {
      if ((i - shard * per_shard_) % kHintSamples == 0)
        will_read_range(source_, i, std::min(i + kHintSamples, end_of(shard)));
      add(i, sample, encoder, writer);
      if (!progress_) continue;
      const std::lock_guard lock(mutex_);
      progress_(++done_, total_);
    }
    writer.finish();
  }

  void add(std::int64_t index, StoredSample& sample, SampleEncoder& encoder, ShardWriter& writer) {
    try {
      source_.get(index, sample);
      writer.add(encoder.encode(sample, source_.name(index)));
    } catch (const base::DataError& error) {
      leave_out(index, error.what());
    } catch (const std::bad_alloc&) {
      leave_out(index, "there is not enough memory for it");
    }
  }

  void leave_out(std::int64_t index, const std::string& problem) {
    const std::string message = describe_problem(source_, index, problem);
    if (!options_.skips_damaged) throw base::DataError(message);
    const std::lock_guard lock(mutex_);
    result_.left_out.push_back(message);
  }

  void write_manifest_if_complete() {
    PackManifest manifest;
    manifest.classes = source_.class_names();
    manifest.fields = source_.stored_fields();
    manifest.source_fingerprint = source_.fingerprint();
    manifest.num_source_samples = source_.size();
    manifest.mode = name_of(options_.mode);
    for (std::int64_t shard = 0; shard < num_shards_; ++shard) {
      const std::optional<ShardReader> reader = open_if_there(shard);
      if (!reader) {
        ++result_.missing_shards;
        continue;
      }
      manifest.shards.push_back({reader->num_samples(), reader->size_bytes(), reader->hash()});
    }
    if (!result_.is_complete()) return;
    base::write_file_atomically(files_, options_.folder / kPackManifestName, to_json(manifest));
  }

  const Dataset& source_;
  const PackOptions& options_;
  base::FileSystem& files_;
  const PackProgress& progress_;
  const std::int64_t per_shard_;
  const std::int64_t num_shards_;
  const std::uint64_t plan_;

  std::mutex mutex_;  ///< guards what follows
  std::int64_t done_ = 0;
  std::int64_t total_ = 0;
  PackResult result_;
};

}  // namespace

PackResult pack(const Dataset& source, const PackOptions& options, base::FileSystem& files,
                const PackProgress& progress) {
  check(source, options);
  return Packer(source, options, files, progress).run();
}

std::string_view name_of(PackMode mode) {
  switch (mode) {
    case PackMode::kFiles:
      return "files";
    case PackMode::kIndexed:
      return "indexed";
    case PackMode::kCoefficients:
      return "coefficients";
    case PackMode::kPixels:
      return "pixels";
  }
  return "";
}

}  // namespace paceline::data
