#pragma once

#include "paceline/checkpoint/environment.h"
#include "paceline/checkpoint/surgery.h"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::checkpoint {

/// The version that this program writes. Older ones are migrated when they are read; a change of
/// the format raises it, adds a step to migrate() and a fixture to the tests.
inline constexpr int kFormatVersion = 6;

inline constexpr std::string_view kManifestFile = "manifest.json";

/// A range of a tensor's elements, in the tensor's order, and where they lie.
struct SliceRecord {
  std::string file;    ///< in the checkpoint's directory
  std::string tensor;  ///< its name in that file
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t checksum = 0;  ///< xxh3 of the slice's bytes
};

struct TensorRecord {
  std::string name;
  std::string dtype;                ///< as in safetensors: "F32"
  std::vector<std::int64_t> shape;  ///< of the whole tensor
  std::vector<std::int64_t> order;  ///< in which all slices count: canonical_order(), {}: row-major
  std::vector<SliceRecord> slices;  ///< by begin; together they are the whole tensor
};

struct FileRecord {
  std::string name;
  std::uint64_t size = 0;
  /// xxh3 of what comes before the tensors, which have checksums of their own; version 1 had none.
  std::optional<std::uint64_t> header_checksum;
};

/// The metric by which the best checkpoints are chosen, as it was when this one was saved.
struct Monitored {
  std::string name;
  double value = 0;
  bool operator==(const Monitored&) const = default;
};

/// What a checkpoint is: all but the elements of the tensors.
struct Manifest {
  int version = kFormatVersion;  ///< of the format in which it was saved
  std::int64_t step = 0;         ///< optimizer steps done
  Environment environment;
  std::optional<Monitored> monitored;
  /// What the run was given besides its recipe, such as the fingerprint of its data, for people; a
  /// run can only be resumed with the same. Empty in versions before 3.
  std::map<std::string, std::string> inputs;
  /// Of the training data, by label. Empty if they have no names, and in versions before 4.
  std::vector<std::string> class_names;
  /// What was done to the network; nothing in versions before 5, and from a program that does not
  /// tell: then the recipe's algorithms say it.
  std::optional<SurgeryRecord> surgery;
  /// The algorithm whose weights stand for the trained ones; empty: these do themselves, as in
  /// versions before 6.
  std::string standing_weights = {};
  std::vector<FileRecord> files;
  std::vector<TensorRecord> tensors;
  /// Of clock, schedule, scaler, algorithms, generator, loader: their owners' own. NaN and
  /// infinities survive.
  nlohmann::json state;
  std::string config;  ///< the resolved recipe, YAML
};

/// The text of manifest.json. Its first line holds a checksum of the rest.
std::string encode(const Manifest& manifest);

/// Reads what encode() wrote and checks that it is whole and consistent: the slices of each tensor
/// cover it once and name files of the list. `path` is for messages. Throws CheckpointError.
Manifest decode(std::string_view text, const std::filesystem::path& path);

}  // namespace paceline::checkpoint
