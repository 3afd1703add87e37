#pragma once

#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace paceline::data {

/// What the packed samples are.
enum class PackMode {
  kFiles,  ///< the image files as they are
  /// Common JPEG files behind an index of places where decoding can start: a crop is decoded
  /// faster, for 3 % more bytes. Other files stay as they are.
  kIndexed,
  /// The coefficients of common JPEG files without their entropy coding: the same pixels, read
  /// several times faster, for one and a half times the bytes. Other files stay as they are.
  kCoefficients,
  kPixels,  ///< decoded, 8-bit RGB: no decoding when training, but 5 times the bytes
};

inline constexpr std::array kPackModes{PackMode::kFiles, PackMode::kIndexed,
                                       PackMode::kCoefficients, PackMode::kPixels};

struct PackOptions {
  std::filesystem::path folder;  ///< to write; one split
  PackMode mode = PackMode::kFiles;
  std::int64_t samples_per_shard = 0;  ///< 0: 64 shards, of 256 to 2,048 samples each
  /// Of several machines that pack together into one folder, this is machine `part` of `num_parts`.
  int part = 0;
  int num_parts = 1;
  int num_threads = 0;         ///< 0: all cores
  bool checks_files = true;    ///< decode every file, so that a damaged one is found now
  bool skips_damaged = false;  ///< leave them out; otherwise the first one ends the work
};

struct PackResult {
  std::int64_t written_shards = 0;
  std::int64_t found_shards = 0;      ///< of an earlier start or another part
  std::int64_t missing_shards = 0;    ///< that other parts have still to write
  std::vector<std::string> left_out;  ///< damaged samples, with what is wrong with each
  bool is_complete() const { return missing_shards == 0; }
};

/// Called with the samples done and all that this call packs; from any thread, one at a time.
using PackProgress = std::function<void(std::int64_t done, std::int64_t total)>;

/// Packs a data set in its order. Shards appear whole or not at all; those that are there already
/// are kept, so that an interrupted call goes on where it was. When the last one is there the
/// manifest is written, whichever part finds so. Threads take whole shards. Throws DataError,
/// ConfigError for options that make no sense or a folder that holds another pack, FileError.
PackResult pack(const Dataset& source, const PackOptions& options, base::FileSystem& files,
                const PackProgress& progress = {});

/// "files", "indexed", "coefficients" or "pixels".
std::string_view name_of(PackMode mode);

}  // namespace paceline::data
