#include "paceline/pretrained/hub_cache.h"

#include "paceline/base/file_status.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <cctype>
#include <system_error>
#include <utility>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLongestRef = 4096;  // bytes

std::string folder_name(std::string repository) {
  for (std::size_t slash = repository.find('/'); slash != std::string::npos;
       slash = repository.find('/', slash))
    repository.replace(slash, 1, "--");
  return "models--" + repository;
}

}  // namespace

bool is_commit(const std::string& revision) {
  return revision.size() == 40 && std::ranges::all_of(revision, [](unsigned char letter) {
           return std::isdigit(letter) != 0 || (letter >= 'a' && letter <= 'f');
         });
}

HubCache::HubCache(fs::path cache, const std::string& repository)
    : cache_(std::move(cache)), name_(folder_name(repository)) {}

fs::path HubCache::snapshot_of(const std::string& commit) const {
  return cache_ / name_ / "snapshots" / commit;
}

std::optional<std::string> HubCache::commit_of(const std::string& revision) const {
  if (is_commit(revision)) return revision;
  const fs::path ref = cache_ / name_ / "refs" / revision;
  if (!base::file_exists(ref) || base::folder_exists(ref)) return std::nullopt;
  const std::string commit(base::trim(base::read_file(ref, kLongestRef)));
  return is_commit(commit) ? std::optional(commit) : std::nullopt;
}

std::optional<fs::path> HubCache::find(const std::string& commit, const std::string& file) const {
  fs::path path = snapshot_of(commit) / file;
  // A link whose content was removed is none.
  if (!base::file_exists(path) || base::folder_exists(path)) return std::nullopt;
  return path;
}

std::vector<std::string> HubCache::files_of(const std::string& commit) const {
  std::vector<std::string> names;
  const fs::path snapshot = snapshot_of(commit);
  std::error_code error;  // then it ends with what is known
  for (fs::recursive_directory_iterator entry(snapshot, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    if (entry->is_regular_file(gone))
      names.push_back(entry->path().lexically_relative(snapshot).string());
  }
  std::ranges::sort(names);
  return names;
}

fs::path HubCache::blob_of(const std::string& etag) const {
  return cache_ / name_ / "blobs" / etag;
}

fs::path HubCache::partial_of(const std::string& etag) const {
  return cache_ / name_ / "blobs" / (etag + ".incomplete");
}

fs::path HubCache::lock_of(const std::string& etag) const {
  return cache_ / ".locks" / name_ / (etag + ".lock");
}

fs::path HubCache::link(base::FileSystem& files, const std::string& commit, const std::string& file,
                        const std::string& etag) const {
  fs::path place = snapshot_of(commit) / file;
  files.create_directories(place.parent_path());
  files.set_symlink(place, blob_of(etag).lexically_relative(place.parent_path()));
  return place;
}

void HubCache::note_commit(base::FileSystem& files, const std::string& revision,
                           const std::string& commit) const {
  if (is_commit(revision) || commit_of(revision) == commit) return;
  const fs::path ref = cache_ / name_ / "refs" / revision;
  files.create_directories(ref.parent_path());
  base::write_file_atomically(files, ref, commit);
}

}  // namespace paceline::pretrained
