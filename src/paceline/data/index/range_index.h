#pragma once

#include "paceline/base/file.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/storage/storage.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

struct RangeHeader;
struct RangeSource;
struct RangeSample;

/// Where the bytes of a sample lie.
struct ByteRange {
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  std::uint32_t source = 0;  ///< number of the source
};

/// The list of samples that are ranges of bytes in larger files, or whole files: 24 bytes a sample
/// and its name, in memory as on disk. XXH3 checksums in blocks of 1,024 samples tell damage.
///
/// A source is a file, or a folder below which the samples are whole files. Sources are named
/// relative to a root folder, so that data and index can move together, or absolutely.
class RangeIndex {
 public:
  /// The index saved in `file`; nothing if there is none, it is of another version or key, its head
  /// is damaged, or its sources have changed (see has_current_sources()). It is mapped: opening it
  /// reads nothing per sample, and blocks are checked when they are first looked at.
  static std::optional<RangeIndex> load(
      const std::filesystem::path& file, const std::filesystem::path& root, std::string_view key,
      const std::shared_ptr<const Storage>& storage = local_storage());

  /// The same in memory, where nothing that happens to the file does any harm: nothing if any of it
  /// is damaged. Sources are not looked at.
  static std::optional<RangeIndex> read(const std::filesystem::path& file,
                                        const std::filesystem::path& root, std::string_view key);

  /// Whether the sources have the sizes and times of change that they had when the index was made.
  /// Remote folders have no time of change, so that theirs are never known to be current.
  bool has_current_sources(const Storage& storage) const;

  /// Writes the index under a temporary name and renames it. False if that is not possible.
  bool save(const std::filesystem::path& file) const;

  /// False while a source is so young that a further change might not alter its time of change.
  bool is_stable() const;

  std::int64_t size() const { return static_cast<std::int64_t>(samples_.size()); }
  std::vector<std::string> classes() const;
  std::int64_t num_sources() const { return static_cast<std::int64_t>(sources_.size()); }
  std::filesystem::path source(std::uint32_t number) const;  ///< its path
  FileFacts source_facts(std::uint32_t number) const;        ///< when the index was made
  bool is_folder(std::uint32_t number) const;

  // Of a sample. Pure and thread-safe; throw DataError that names the index if it is damaged.
  std::int64_t label(std::int64_t index) const;
  ByteRange range(std::int64_t index) const;
  std::string_view name(std::int64_t index) const;
  /// Of one that is a whole file, when the index was made.
  FileFacts facts(std::int64_t index) const;

  /// What lies among the samples and is none.
  LeftOut left_out() const;
  /// Of the names, sizes, labels and order of the samples.
  std::string fingerprint() const;

 private:
  friend class RangeIndexBuilder;
  RangeIndex(std::shared_ptr<const void> owner, std::string_view bytes,
             const std::filesystem::path& file, const std::filesystem::path& root);
  void check_mapping() const;
  bool has_right_sizes() const;
  bool is_of(std::string_view key) const;
  std::uint64_t head_checksum() const;
  std::uint64_t block_checksum(std::size_t block) const;
  const RangeHeader& header() const;
  const RangeSample& sample(std::int64_t index) const;
  std::string_view head_text(std::uint64_t begin, std::uint64_t end) const;
  void check_block(std::size_t block) const;
  std::string_view names() const;
  std::string_view names_between(std::size_t first, std::size_t end) const;
  [[noreturn]] void fail() const;

  std::shared_ptr<const void> owner_;                ///< of the memory below
  std::shared_ptr<const base::MappedFile> mapping_;  ///< the same, if it is a file's
  std::string_view bytes_;
  std::filesystem::path file_;
  std::filesystem::path root_;
  std::span<const RangeSource> sources_;
  std::span<const std::uint64_t> checksums_;  ///< of the blocks of samples
  std::span<const RangeSample> samples_;
  std::string_view text_;
  std::unique_ptr<std::atomic<bool>[]> is_checked_;  ///< one per block
};

}  // namespace paceline::data
