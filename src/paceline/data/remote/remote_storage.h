#pragma once

#include "paceline/data/remote/remote_config.h"
#include "paceline/data/storage/byte_cache.h"
#include "paceline/data/storage/caching_storage.h"
#include "paceline/data/storage/retrying_storage.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// All places by their paths: the files of this machine, and by the plug-in, which is loaded at the
/// first path that needs it, those of others, with retries and a cache. It costs nothing until
/// then.
class StorageByScheme final : public Storage {
 public:
  using OpenScheme = std::function<std::unique_ptr<const Storage>(std::string_view scheme)>;

  /// `open_scheme` stands in for the plug-in in tests; `interruption` ends pauses between retries
  /// and long lists, and outlives the storage.
  explicit StorageByScheme(const RemoteConfig& config, OpenScheme open_scheme = {},
                           const base::Interruption* interruption = nullptr);
  /// Logs how many retries there were, if any.
  ~StorageByScheme() override;
  StorageByScheme(const StorageByScheme&) = delete;
  StorageByScheme& operator=(const StorageByScheme&) = delete;

  std::unique_ptr<const InputFile> open(const std::string& path) const override;
  std::unique_ptr<const InputFile> open_known(const std::string& path,
                                              const FileFacts& facts) const override;
  std::optional<FileFacts> facts(const std::string& path) const override;
  std::vector<FileEntry> list(const std::string& folder) const override;
  int num_connections() const override { return config_.connections; }
  /// data.remote.cache, if it is set.
  std::filesystem::path cache_folder() const override;
  void check_interruption(std::string_view doing) const override;

  /// Of all reads so far.
  const RetryCounts& retry_counts() const { return *retry_counts_; }
  const CacheCounts& cache_counts() const { return *cache_counts_; }

 private:
  const Storage& storage_of(const std::string& path) const;

  RemoteConfig config_;
  OpenScheme open_scheme_;
  const base::Interruption* interruption_;
  std::shared_ptr<const Storage> local_;
  std::shared_ptr<RetryCounts> retry_counts_ = std::make_shared<RetryCounts>();
  std::shared_ptr<ByteCache> cache_;  ///< if there is to be one
  std::shared_ptr<CacheCounts> cache_counts_ = std::make_shared<CacheCounts>();
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const Storage>, std::less<>> remote_;
};

/// Throws ConfigError at the first use of a scheme that there is not. A null `interruption` never
/// comes; another one outlives the storage.
std::shared_ptr<const StorageByScheme> make_storage(
    const RemoteConfig& config, const base::Interruption* interruption = nullptr);

}  // namespace paceline::data
