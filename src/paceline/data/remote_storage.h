#pragma once

#include "paceline/data/byte_cache.h"
#include "paceline/data/caching_storage.h"
#include "paceline/data/remote_config.h"
#include "paceline/data/retrying_storage.h"
#include "paceline/data/storage.h"

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
class AnyStorage final : public Storage {
 public:
  using OpenScheme = std::function<std::unique_ptr<const Storage>(std::string_view scheme)>;

  /// `open_scheme` stands in for the plug-in in tests; `interruption` ends pauses between retries.
  explicit AnyStorage(const RemoteConfig& config, OpenScheme open_scheme = {},
                      std::shared_ptr<const base::Interruption> interruption = {});
  /// Logs how many retries there were, if any.
  ~AnyStorage() override;
  AnyStorage(const AnyStorage&) = delete;
  AnyStorage& operator=(const AnyStorage&) = delete;

  std::unique_ptr<const InputFile> open(const std::string& path) const override;
  std::unique_ptr<const InputFile> open_known(const std::string& path,
                                              const FileFacts& facts) const override;
  std::optional<FileFacts> facts(const std::string& path) const override;
  std::vector<FileEntry> list(const std::string& folder) const override;
  int num_connections() const override { return config_.connections; }

  /// Of all reads so far.
  const RetryCounts& retry_counts() const { return *retry_counts_; }
  const CacheCounts& cache_counts() const { return *cache_counts_; }

 private:
  const Storage& storage_of(const std::string& path) const;

  RemoteConfig config_;
  OpenScheme open_scheme_;
  std::shared_ptr<const base::Interruption> interruption_;
  std::shared_ptr<const Storage> local_;
  std::shared_ptr<RetryCounts> retry_counts_ = std::make_shared<RetryCounts>();
  std::shared_ptr<ByteCache> cache_;  ///< if there is to be one
  std::shared_ptr<CacheCounts> cache_counts_ = std::make_shared<CacheCounts>();
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const Storage>, std::less<>> remote_;
};

/// Throws ConfigError at the first use of a scheme that there is not.
std::shared_ptr<const AnyStorage> make_storage(
    const RemoteConfig& config, std::shared_ptr<const base::Interruption> interruption = {});

}  // namespace paceline::data
