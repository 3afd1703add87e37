#pragma once

#include "paceline/base/file.h"
#include "paceline/data/image/pixels.h"
#include "paceline/data/pack/shard_format.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// A sample on its way into a shard.
struct PackedSample {
  std::span<const std::uint8_t> payload = {};
  PayloadKind kind = PayloadKind::kFile;
  ImageSize size = {};  ///< of the image
  std::int64_t label = 0;
  std::string_view name = {};
};

/// Writes one shard in a single pass. The file appears under its name when finish() returns, whole
/// and on disk; until then it is PATH.partial-PID, which a writer that is given up removes.
class ShardWriter {
 public:
  /// `files` must outlive the writer. Throws FileError.
  ShardWriter(base::FileSystem& files, const std::filesystem::path& path, std::uint32_t number,
              std::uint64_t plan);

  ~ShardWriter();
  ShardWriter(const ShardWriter&) = delete;
  ShardWriter& operator=(const ShardWriter&) = delete;

  /// Throws DataError for what the format has no room for: payloads and names of 4 GiB, sides of
  /// 65,536 pixels. Throws FileError.
  void add(const PackedSample& sample);
  /// Throws FileError.
  void finish();

 private:
  void write(std::string_view bytes);

  base::FileSystem& files_;
  std::filesystem::path path_;
  std::filesystem::path partial_;
  std::unique_ptr<base::OutputFile> file_;
  ShardFooter footer_;
  std::uint64_t position_ = 0;
  std::vector<ShardRecord> records_;
  std::string names_;
  std::string buffer_;
};

}  // namespace paceline::data
