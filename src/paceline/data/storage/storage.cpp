#include "paceline/data/storage/storage.h"

#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/storage/cache_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileScheme = "file://";

std::optional<FileFacts> facts_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw base::DataError(fmt::format("{}: cannot be looked at: {}; mend or remove it",
                                      path.string(), std::strerror(errno)));
  }
  FileFacts facts;
  facts.is_folder = S_ISDIR(status.st_mode);
  if (!facts.is_folder) facts.size = static_cast<std::uint64_t>(status.st_size);
  facts.changed = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  return facts;
}

class LocalStorage final : public Storage {
 public:
  std::unique_ptr<const InputFile> open(const std::string& path) const override {
    return std::make_unique<const LocalFile>(without_file_scheme(path));
  }

  std::optional<FileFacts> facts(const std::string& path) const override {
    return facts_of(without_file_scheme(path));
  }

  std::vector<FileEntry> list(const std::string& folder) const override {
    std::error_code error;
    std::vector<FileEntry> entries;
    for (fs::directory_iterator entry(without_file_scheme(folder), error), end;
         !error && entry != end; entry.increment(error)) {
      if (auto facts = facts_of(entry->path()))
        entries.push_back({entry->path().filename().string(), *facts});
    }
    if (error) throw base::DataError(fmt::format("{}: cannot list: {}", folder, error.message()));
    std::sort(entries.begin(), entries.end(),
              [](const FileEntry& a, const FileEntry& b) { return a.name < b.name; });
    return entries;
  }
};

}  // namespace

fs::path Storage::cache_folder() const { return user_cache(); }

std::string without_file_scheme(std::string_view path) {
  if (path.starts_with(kFileScheme)) path.remove_prefix(kFileScheme.size());
  return std::string(path);
}

std::string_view remote_scheme(std::string_view path) {
  if (path.starts_with("hf:")) return path.substr(0, 2);
  const std::size_t end = path.find("://");
  if (end == std::string_view::npos || path.starts_with(kFileScheme)) return {};
  return path.substr(0, end);
}

bool is_remote(const std::string& path) { return !remote_scheme(path).empty(); }

bool is_file(const Storage& storage, const fs::path& path) {
  const std::optional<FileFacts> facts = storage.facts(path.string());
  return facts && !facts->is_folder;
}

bool is_folder(const Storage& storage, const fs::path& path) {
  const std::optional<FileFacts> facts = storage.facts(path.string());
  return facts && facts->is_folder;
}

FileFacts file_facts(const Storage& storage, const std::string& path) {
  const std::optional<FileFacts> known = storage.facts(path);
  if (!known || known->is_folder)
    throw base::DataError(
        fmt::format("{}: {}", path, known ? "is a folder" : "there is no such file"));
  return *known;
}

std::vector<std::optional<FileFacts>> facts_of_all(const Storage& storage,
                                                   const std::vector<fs::path>& paths) {
  std::vector<std::optional<FileFacts>> facts(paths.size());
  const bool has_remote = std::ranges::any_of(paths, is_remote);
  base::parallel_for(std::ssize(paths), has_remote ? storage.num_connections() : 1,
                     [&](std::int64_t i) {
                       const auto which = static_cast<std::size_t>(i);
                       facts[which] = storage.facts(paths[which].string());
                     });
  return facts;
}

std::string read_text(const Storage& storage, const std::string& path) {
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
  const auto file = storage.open(path);
  if (file->size() > kMost)
    throw base::DataError(fmt::format("{}: has {} bytes, and a text of at most {} was expected",
                                      path, file->size(), kMost));
  std::string text(file->size(), '\0');
  file->read(0, {reinterpret_cast<std::uint8_t*>(text.data()), text.size()});
  return text;
}

fs::path path_in(const fs::path& folder, const fs::path& path) {
  return is_remote(path) ? path : folder / path;
}

std::shared_ptr<const Storage> local_storage() { return std::make_shared<const LocalStorage>(); }

}  // namespace paceline::data
