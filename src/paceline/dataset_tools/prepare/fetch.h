#pragma once

#include "paceline/base/file.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace paceline::dataset_tools {

struct FetchOptions {
  int connections = 8;                                ///< reads under way at once
  std::uint64_t read_bytes = std::uint64_t{8} << 20;  ///< of each read
  /// Told, in words, of a file that is fetched again.
  std::function<void(const std::string& what)> say = {};
};

/// Called with the bytes that are here and all; from one thread.
using FetchProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Copies the file `from` of a storage to `target` on this machine. It appears there complete and,
/// unless `md5` is empty, with this checksum; a file that is there already is left alone. What has
/// come so far is kept in `target`.part, where the next call goes on: trying failed reads again is
/// the storage's part. A file of another checksum is fetched once again; without `md5` all is
/// fetched anew each time. Throws DataError that says what failed and what to do, FileError.
void fetch(const data::Storage& storage, const std::string& from, const std::string& md5,
           const std::filesystem::path& target, const FetchOptions& options,
           base::FileSystem& files, const FetchProgress& progress = {});

/// Throws DataError unless the file `path` of a storage has this checksum.
void check_md5(const data::Storage& storage, const std::string& path, const std::string& md5,
               const FetchProgress& progress = {});

}  // namespace paceline::dataset_tools
