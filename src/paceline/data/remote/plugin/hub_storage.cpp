#include "paceline/data/remote/plugin/hub_storage.h"

#include "paceline/base/hash.h"
#include "paceline/base/json.h"
#include "paceline/data/remote/plugin/http_storage.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <mutex>
#include <utility>

#include <nlohmann/json.hpp>

namespace paceline::data {
namespace {

/// Takes what stands before the next '/' off the front.
std::string take_part(std::string_view& path) {
  const std::size_t slash = path.find('/');
  std::string part(path.substr(0, slash));
  path.remove_prefix(slash == std::string_view::npos ? path.size() : slash + 1);
  return part;
}

struct HubPath {
  std::string repository;  ///< OWNER/NAME
  std::string revision = "main";
  std::string file;  ///< or folder; empty: the repository's root
};

HubPath parse_hub_path(const std::string& path) {
  std::string_view rest = path;
  for (const std::string_view prefix : {"hf:", "//", "datasets/"})
    if (rest.starts_with(prefix)) rest.remove_prefix(prefix.size());
  HubPath parsed;
  const std::string owner = take_part(rest);
  std::string name = take_part(rest);
  if (const std::size_t at = name.find('@'); at != std::string::npos) {
    parsed.revision = name.substr(at + 1);
    name.resize(at);
    if (parsed.revision == "refs")  // as refs/convert/parquet, refs/pr/1
      for (int i = 0; i < 2; ++i) parsed.revision += "/" + take_part(rest);
  }
  if (owner.empty() || name.empty() || parsed.revision.empty())
    throw base::DataError(fmt::format(
        "{}: expected hf:OWNER/NAME[@REVISION]/PATH, as hf:ILSVRC/imagenet-1k/data", path));
  parsed.repository = owner + "/" + name;
  while (rest.ends_with('/')) rest.remove_suffix(1);
  parsed.file = rest;
  return parsed;
}

/// The path and query of the next page in a Link header; empty if this was the last.
std::string next_page(const std::string& link) {
  for (std::size_t begin = link.find('<'); begin != std::string::npos;
       begin = link.find('<', begin + 1)) {
    const std::size_t end = link.find('>', begin);
    if (end == std::string::npos) return {};
    const std::string about = link.substr(end, link.find(',', end) - end);
    if (about.find("rel=\"next\"") == std::string::npos) continue;
    const std::string url = link.substr(begin + 1, end - begin - 1);
    const std::size_t host = url.find("://");
    return host == std::string::npos ? url
                                     : url.substr(std::min(url.find('/', host + 3), url.size()));
  }
  return {};
}

using FolderContent = std::map<std::string, FileFacts>;  ///< by name

FileFacts facts_of_entry(const nlohmann::json& entry) {
  FileFacts facts;
  facts.is_folder = entry.at("type") == "directory";
  if (!facts.is_folder) facts.size = entry.at("size").get<std::uint64_t>();
  const auto& object = entry.contains("lfs") ? entry.at("lfs") : entry;
  const std::string id = object.at("oid").get<std::string>();
  facts.changed = static_cast<std::int64_t>(base::xxh3(id) | std::uint64_t{1} << 63);
  return facts;
}

class HubStorage final : public Storage {
 public:
  HubStorage(HubAccess access, double timeout_s)
      : access_(std::move(access)), client_(std::make_shared<const HttpClient>(timeout_s)) {}

  std::unique_ptr<const InputFile> open(const std::string& path) const override {
    return open_known(path, file_facts(*this, path));
  }

  std::unique_ptr<const InputFile> open_known(const std::string& path,
                                              const FileFacts& facts) const override {
    const HubPath place = parse_hub_path(path);
    HttpPlace http{path,
                   fmt::format("{}/datasets/{}/resolve/{}/{}", access_.endpoint, place.repository,
                               commit_of(place), escape_url(place.file, true)),
                   access_.token};
    http.is_fixed = true;
    check_access(place, http);
    return open_http(client_, http, facts);
  }

  std::optional<FileFacts> facts(const std::string& path) const override {
    const HubPath place = parse_hub_path(path);
    if (place.file.empty()) {
      commit_of(place);
      return FileFacts{.is_folder = true};
    }
    const std::size_t slash = place.file.rfind('/');
    HubPath parent = place;
    parent.file.resize(slash == std::string::npos ? 0 : slash);
    const auto content = content_of(parent);
    if (content == nullptr) return std::nullopt;
    const auto found = content->find(place.file.substr(slash == std::string::npos ? 0 : slash + 1));
    return found == content->end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<FileEntry> list(const std::string& folder) const override {
    const auto content = content_of(parse_hub_path(folder));
    if (content == nullptr)
      throw base::DataError(fmt::format("{}: there is no such folder", folder));
    std::vector<FileEntry> entries;
    for (const auto& [name, facts] : *content) entries.push_back({name, facts});
    return entries;
  }

 private:
  /// A request to the hub's API; `target` begins with '/'. Nothing for what is not there.
  std::optional<nlohmann::json> ask(const HubPath& place, const std::string& target,
                                    std::string& next) const {
    std::string text;
    const HttpResponse response =
        client_->get_text({access_.endpoint + target, access_.token}, text);
    if (response.header("x-error-code") == "EntryNotFound") return std::nullopt;
    check_answer(place, response);
    next = next_page(response.header("link"));
    try {
      return base::parse_json(text);
    } catch (const base::JsonError& error) {
      throw base::DataError(fmt::format("hf:{}: {} answers with what is no JSON: {}",
                                        place.repository, access_.endpoint, error.what()));
    }
  }

  void check_answer(const HubPath& place, const HttpResponse& response) const {
    check_hub_answer(access_, {"data set", place.repository, place.revision, "datasets/"},
                     response);
  }

  /// Listings of gated sets are open to all, their files are not: asks for a byte of the first.
  void check_access(const HubPath& place, const HttpPlace& http) const {
    {
      const std::lock_guard lock(mutex_);
      if (is_accessible_[place.repository]) return;
    }
    const HttpResponse response = client_->get({http.url, http.bearer, "0-0"},
                                               [](const auto&, std::string_view) { return false; });
    if (response.status == 401 || response.status == 403) check_answer(place, response);
    const std::lock_guard lock(mutex_);
    is_accessible_[place.repository] = true;
  }

  std::string commit_of(const HubPath& place) const {
    const std::string key = place.repository + "@" + place.revision;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = commits_.find(key); found != commits_.end()) return found->second;
    }
    std::string next;
    const auto answer = ask(place,
                            fmt::format("/api/datasets/{}/revision/{}", place.repository,
                                        escape_url(place.revision, false)),
                            next);
    const bool has_commit = answer && answer->contains("sha") && answer->at("sha").is_string();
    const std::string commit = has_commit ? answer->at("sha").get<std::string>() : "";
    if (commit.empty() || !std::ranges::all_of(commit, [](unsigned char letter) {
          return std::isxdigit(letter) != 0;
        }))
      throw base::DataError(fmt::format("hf:{}: the hub does not tell the commit of '{}'",
                                        place.repository, place.revision));
    const std::lock_guard lock(mutex_);
    return commits_.emplace(key, commit).first->second;
  }

  /// What lies in a folder; nullptr if it is not there.
  std::shared_ptr<const FolderContent> content_of(const HubPath& place) const {
    const std::string tree =
        fmt::format("/api/datasets/{}/tree/{}{}{}", place.repository, commit_of(place),
                    place.file.empty() ? "" : "/", escape_url(place.file, true));
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = folders_.find(tree); found != folders_.end()) return found->second;
    }
    auto content = std::make_shared<FolderContent>();
    for (std::string target = tree, next; !target.empty(); target = next) {
      const auto page = ask(place, target, next);
      if (!page) {
        content.reset();
        break;
      }
      add_entries(place, *page, *content);
    }
    const std::lock_guard lock(mutex_);
    return folders_.emplace(tree, std::move(content)).first->second;
  }

  static void add_entries(const HubPath& place, const nlohmann::json& page,
                          FolderContent& content) {
    try {
      for (const nlohmann::json& entry : page) {
        const std::string path = entry.at("path").get<std::string>();
        content[path.substr(path.rfind('/') + 1)] = facts_of_entry(entry);
      }
    } catch (const nlohmann::json::exception& error) {
      throw base::DataError(fmt::format("hf:{}: the hub's list of files is not understood: {}",
                                        place.repository, error.what()));
    }
  }

  HubAccess access_;
  std::shared_ptr<const HttpClient> client_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::string> commits_;  ///< by OWNER/NAME@REVISION
  mutable std::map<std::string, std::shared_ptr<const FolderContent>> folders_;
  mutable std::map<std::string, bool> is_accessible_;
};

}  // namespace

std::unique_ptr<const Storage> open_hub_storage(const HubAccess& access, double timeout_s) {
  return std::make_unique<const HubStorage>(access, timeout_s);
}

}  // namespace paceline::data
