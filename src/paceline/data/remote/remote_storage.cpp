#include "paceline/data/remote/remote_storage.h"

#include "paceline/base/log.h"
#include "paceline/data/remote/remote_plugin.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::data {

StorageByScheme::StorageByScheme(const RemoteConfig& config, OpenScheme open_scheme,
                                 const base::Interruption* interruption)
    : config_(config),
      open_scheme_(std::move(open_scheme)),
      interruption_(interruption),
      local_(local_storage()) {
  if (!config.cache.empty())
    cache_ = std::make_shared<ByteCache>(config.cache,
                                         static_cast<std::uint64_t>(config.cache_gb * 1e9));
  if (open_scheme_) return;
  open_scheme_ = [config](std::string_view scheme) {
    return load_remote_plugin().open_storage(scheme, config);
  };
}

StorageByScheme::~StorageByScheme() {
  const std::int64_t retries = retry_counts_->retries;
  if (retries > 0)
    base::log_info("remote data: {} reads were tried again, {} given up", retries,
                   retry_counts_->given_up.load());
  const std::int64_t hits = cache_counts_->hits;
  if (cache_)
    base::log_info("data.remote.cache: {} reads came from it, {} from elsewhere", hits,
                   cache_counts_->misses.load());
}

const Storage& StorageByScheme::storage_of(const std::string& path) const {
  const std::string_view scheme = remote_scheme(path);
  if (scheme.empty()) return *local_;
  const std::lock_guard lock(mutex_);
  const auto found = remote_.find(scheme);
  if (found != remote_.end()) return *found->second;
  auto storage = retry_transient_errors(open_scheme_(scheme),
                                        {.retries = config_.retries, .interruption = interruption_},
                                        retry_counts_);
  if (cache_) storage = keep_in_cache(std::move(storage), cache_, cache_counts_);
  return *remote_.emplace(scheme, std::move(storage)).first->second;
}

std::unique_ptr<const InputFile> StorageByScheme::open(const std::string& path) const {
  return storage_of(path).open(path);
}

std::unique_ptr<const InputFile> StorageByScheme::open_known(const std::string& path,
                                                             const FileFacts& facts) const {
  return storage_of(path).open_known(path, facts);
}

std::optional<FileFacts> StorageByScheme::facts(const std::string& path) const {
  return storage_of(path).facts(path);
}

std::vector<FileEntry> StorageByScheme::list(const std::string& folder) const {
  check_interruption(fmt::format("listing {}", folder));
  return storage_of(folder).list(folder);
}

std::filesystem::path StorageByScheme::cache_folder() const {
  return config_.cache.empty() ? Storage::cache_folder() : std::filesystem::path(config_.cache);
}

void StorageByScheme::check_interruption(std::string_view doing) const {
  if (interruption_ != nullptr) interruption_->check(doing);
}

std::shared_ptr<const StorageByScheme> make_storage(const RemoteConfig& config,
                                                    const base::Interruption* interruption) {
  return std::make_shared<const StorageByScheme>(config, StorageByScheme::OpenScheme(),
                                                 interruption);
}

}  // namespace paceline::data
