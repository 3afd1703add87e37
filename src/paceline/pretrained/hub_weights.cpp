#include "paceline/pretrained/hub_weights.h"

#include "paceline/base/error.h"
#include "paceline/base/file_status.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/pretrained/file_lock.h"
#include "paceline/pretrained/hub_repository.h"
#include "paceline/pretrained/weight_files.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;

std::string name_of(const HubSource& source) {
  const std::string revision = source.revision == "main" ? "" : "@" + source.revision;
  return fmt::format("hf:{}{}", source.repository, revision);
}

FetchedWeights weights_of(const HubSource& source, const HubCache& cache, const std::string& commit,
                          const std::string& file, fs::path path) {
  return {std::move(path), fmt::format("{} at commit {}, {}", name_of(source), commit, file),
          cache.find(commit, std::string(kConfigFile))};
}

[[noreturn]] void refuse_offline(const HubSource& source, const data::HubAccess& access) {
  throw base::DataError(fmt::format(
      "{}{}: not in the cache {}, and HF_HUB_OFFLINE forbids to ask the hub: fetch it where there "
      "is a network (`hf download {}`, or this command without HF_HUB_OFFLINE)",
      name_of(source), source.file.empty() ? "" : ":" + source.file, access.cache.string(),
      source.repository));
}

[[noreturn]] void refuse_file(const HubSource& source, const HubCommit& commit) {
  const std::string nearest = base::nearest_name(source.file, commit.files);
  throw base::ConfigError(
      fmt::format("model.pretrained: {} has no file '{}'{}; there are: {}", name_of(source),
                  source.file, nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest),
                  base::join_first(commit.files, 10)));
}

/// Brings the files of one commit.
class CommitFetcher {
 public:
  CommitFetcher(const HubSource& source, const HubCache& cache, const HubRepository& repository,
                const data::HttpExchange& exchange, const data::HubAccess& access,
                const FetchContext& context)
      : source_(source),
        cache_(cache),
        repository_(repository),
        exchange_(exchange),
        access_(access),
        context_(context) {}

  FetchedWeights fetch(const HubCommit& commit) const {
    const std::string config(kConfigFile);
    std::string named;
    if (std::ranges::find(commit.files, config) != commit.files.end())
      named = weight_file_in_config(fetch_file(commit.commit, config));
    const std::string file = choose(commit, named);
    fs::path path = fetch_file(commit.commit, file);
    if (is_index(file))
      for (const std::string& shard : shards_in_index(path))
        fetch_file(commit.commit, beside(file, shard));
    return weights_of(source_, cache_, commit.commit, file, std::move(path));
  }

 private:
  std::string choose(const HubCommit& commit, const std::string& named) const {
    if (source_.file.empty()) {
      const auto chosen = choose_weight_file(commit.files, named);
      if (!chosen) refuse_repository(name_of(source_), commit.files, named);
      return *chosen;
    }
    if (std::ranges::find(commit.files, source_.file) == commit.files.end())
      refuse_file(source_, commit);
    return source_.file;
  }

  fs::path fetch_file(const std::string& commit, const std::string& file) const {
    if (auto present = cache_.find(commit, file)) return *std::move(present);
    const std::string name = fmt::format("{}:{}", name_of(source_), file);
    const DownloadOptions& options = context_.download;
    HubFile facts;
    retry(name, options, [&] { facts = repository_.find_file(commit, file); });
    const FileLock lock(options.files, cache_.lock_of(facts.etag), "downloads " + name,
                        options.interruption);
    if (!base::file_exists(cache_.blob_of(facts.etag))) {
      const DownloadPlan plan{name, cache_.blob_of(facts.etag), cache_.partial_of(facts.etag),
                              facts.size, facts.sha256};
      download(plan,
               fetch_by_http(exchange_,
                             {name, facts.url, access_.token, /*etag=*/{},
                              [this](const auto& response) { repository_.check(response); }},
                             options.interruption),
               options);
    }
    return cache_.link(options.files, commit, file, facts.etag);
  }

  const HubSource& source_;
  const HubCache& cache_;
  const HubRepository& repository_;
  const data::HttpExchange& exchange_;
  const data::HubAccess& access_;
  const FetchContext& context_;
};

}  // namespace

std::optional<FetchedWeights> find_in_cache(const HubSource& source, const HubCache& cache,
                                            const std::string& commit) {
  const auto config = cache.find(commit, std::string(kConfigFile));
  std::string file = source.file;
  if (file.empty())
    file = choose_weight_file(cache.files_of(commit), config ? weight_file_in_config(*config) : "")
               .value_or("");
  auto path = file.empty() ? std::nullopt : cache.find(commit, file);
  if (!path) return std::nullopt;
  if (is_index(file)) {
    const auto is_there = [&](const std::string& shard) {
      return cache.find(commit, beside(file, shard)).has_value();
    };
    if (!std::ranges::all_of(shards_in_index(*path), is_there)) return std::nullopt;
  }
  return weights_of(source, cache, commit, file, *std::move(path));
}

FetchedWeights fetch_from_hub(const HubSource& source, const data::HubAccess& access,
                              const FetchContext& context) {
  const HubCache cache(access.cache, source.repository);
  const std::optional<std::string> known = cache.commit_of(source.revision);
  auto cached = known ? find_in_cache(source, cache, *known) : std::nullopt;
  if (access.is_offline && !cached) refuse_offline(source, access);
  if (cached && (access.is_offline || is_commit(source.revision))) return *std::move(cached);
  const auto exchange = context.open_http();
  const HubRepository repository(*exchange, access, source);
  HubCommit commit;
  try {
    const auto ask = [&] { commit = repository.find_commit(); };
    cached ? ask() : retry(name_of(source), context.download, ask);
  } catch (const base::DataError& error) {
    if (!cached) throw;
    base::log_warning("{}; taking what is in the cache, of commit {}", error.what(), *known);
    return *std::move(cached);
  }
  if (cached && commit.commit == *known) return *std::move(cached);
  FetchedWeights fetched =
      CommitFetcher(source, cache, repository, *exchange, access, context).fetch(commit);
  cache.note_commit(context.download.files, source.revision, commit.commit);
  return fetched;
}

}  // namespace paceline::pretrained
