#pragma once

#include "paceline/base/error.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/pack/shard_format.h"
#include "paceline/data/storage/input_file.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// A shard that is cut short, altered or no shard at all.
struct DamagedShard : base::DataError {
  using DataError::DataError;
};

/// A shard open for reading. Reads are pure and may come from any thread.
class ShardReader {
 public:
  /// Reads the index and verifies it; payloads are verified as they are read. Unless the file stays
  /// open, each read opens it: a process may have so many files open. Throws DataError that names
  /// the file and what is wrong with it, DamagedShard if only writing it again helps.
  explicit ShardReader(const std::filesystem::path& path, bool stays_open = true);
  /// The same for a remote file; past any cache if it is to be.
  ShardReader(std::shared_ptr<const InputFile> file, bool skips_cache);

  std::int64_t num_samples() const { return std::ssize(records_); }
  std::uint32_t number() const { return footer_.number; }
  std::uint64_t plan() const { return footer_.plan; }
  /// Of all that the shard holds: its records hold their payloads' hashes.
  std::uint64_t hash() const { return footer_.tail_hash; }
  std::uint64_t size_bytes() const { return size_bytes_; }
  /// The file, opened anew unless it stays open.
  std::shared_ptr<const InputFile> open() const {
    return file_ ? file_ : std::make_shared<const LocalFile>(path_);
  }

  const ShardRecord& record(std::int64_t index) const {
    return records_[static_cast<std::size_t>(index)];
  }
  std::string_view name(std::int64_t index) const;
  /// Throws DataError that names shard and sample if the payload is damaged.
  void read(std::int64_t index, StoredSample& sample) const;
  /// Fills in what goes with `sample.bytes`; false if those are not the payload.
  bool accept(std::int64_t index, StoredSample& sample) const;
  /// "FILE, sample NAME".
  std::string describe(std::int64_t index) const;

 private:
  [[noreturn]] void fail(std::string_view problem) const;
  void read_footer();
  void check_tail();
  void check_records() const;
  std::string_view bytes_at(std::uint64_t offset, std::uint64_t size,
                            std::vector<char>& memory) const;

  std::string path_;
  std::uint64_t size_bytes_ = 0;
  bool skips_cache_ = false;
  std::shared_ptr<const InputFile> file_;  ///< if it stays open
  std::vector<char> tail_;                 ///< the index
  ShardFooter footer_;
  std::span<const ShardRecord> records_;
  std::string_view names_;
};

}  // namespace paceline::data
