#pragma once

#include "paceline/data/dataset/dataset.h"
#include "paceline/data/index/range_index.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// Collects the samples of an index in their order.
class RangeIndexBuilder {
 public:
  /// `key` stands for all that the index depends on beside its sources' content: their list and the
  /// settings of the data set.
  RangeIndexBuilder(const std::filesystem::path& root, std::string_view key,
                    std::shared_ptr<const Storage> storage = local_storage());
  RangeIndexBuilder(RangeIndexBuilder&&) noexcept;
  ~RangeIndexBuilder();

  /// Notes size and time of change, so call it before reading the source. `path` is relative to the
  /// root or absolute. Returns its number. Throws DataError if it is not there.
  std::uint32_t add_source(const std::filesystem::path& path);
  /// The same for a source whose facts were taken before it was read.
  std::uint32_t add_source(const std::filesystem::path& path, const FileFacts& facts);
  /// The same for several, which get the next numbers in their order; looks at many at once.
  void add_sources(const std::vector<std::filesystem::path>& paths);

  /// Throws DataError for samples of 4 GiB and more.
  void add(std::uint32_t source, std::uint64_t offset, std::uint64_t size, std::int64_t label,
           std::string_view name);

  /// A whole file, whose name is its path below the source, a folder. Files of 4 GiB and more count
  /// as that large.
  void add_file(std::uint32_t source, const FileFacts& facts, std::int64_t label,
                std::string_view name);

  std::int64_t size() const;
  /// `left_out`: without its folder, which is the root. An empty `fingerprint` is made of what was
  /// added and of the classes.
  RangeIndex finish(const std::vector<std::string>& classes, const LeftOut& left_out = {},
                    std::string fingerprint = {});

 private:
  struct Content;
  void append(std::uint32_t source, std::uint64_t offset, std::uint32_t size, std::int64_t label,
              std::string_view name);
  std::string usual_fingerprint(std::string_view classes) const;
  RangeIndex lay_out();
  std::unique_ptr<Content> content_;
};

}  // namespace paceline::data
