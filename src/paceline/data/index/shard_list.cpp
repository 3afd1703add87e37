#include "paceline/data/index/shard_list.h"

#include "paceline/base/error.h"
#include "paceline/data/dataset/dataset.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <fnmatch.h>
#include <glob.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxTexts = 1'000'000;

void check_count(std::uint64_t count, std::string_view text) {
  if (count > kMaxTexts) {
    throw base::DataError(
        fmt::format("{}: the braces stand for more than {} files", text, kMaxTexts));
  }
}

/// Where the brace that opens at `open` is closed; npos if it is not.
std::size_t closing_brace(std::string_view text, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// "000..011" as its numbers, with the first one's width; nothing if it is no range.
std::optional<std::vector<std::string>> expand_range(std::string_view inner) {
  const std::size_t dots = inner.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::string_view first_text = inner.substr(0, dots);
  const std::string_view last_text = inner.substr(dots + 2);
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  const auto is_read = [](std::string_view digits, std::uint32_t& value) {
    const char* const end = digits.data() + digits.size();
    const auto [behind, error] = std::from_chars(digits.data(), end, value);
    return error == std::errc() && behind == end && !digits.empty();
  };
  if (!is_read(first_text, first) || !is_read(last_text, last) || last < first) return std::nullopt;
  check_count(std::uint64_t{last} - first + 1, inner);
  std::vector<std::string> texts;
  for (std::uint64_t number = first; number <= last; ++number) {
    texts.push_back(fmt::format("{:0{}}", number, first_text.size()));
  }
  return texts;
}

/// What stands between a pair of braces, parted by its outermost commas.
std::vector<std::string> expand_list(std::string_view inner) {
  std::vector<std::string> texts;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= inner.size(); ++i) {
    if (i < inner.size() && inner[i] == '{') ++depth;
    if (i < inner.size() && inner[i] == '}') --depth;
    if (i < inner.size() && (inner[i] != ',' || depth > 0)) continue;
    for (std::string& text : expand_braces(inner.substr(start, i - start))) {
      texts.push_back(std::move(text));
    }
    start = i + 1;
  }
  return texts;
}

/// The files of a folder whose names match.
std::vector<fs::path> matching_files(const fs::path& folder, const std::string& pattern,
                                     const Storage& storage) {
  std::vector<fs::path> files;
  for (const FileEntry& entry : storage.list(folder.string())) {
    if (!entry.facts.is_folder && ::fnmatch(pattern.c_str(), entry.name.c_str(), FNM_PERIOD) == 0)
      files.push_back(folder / entry.name);
  }
  return files;
}

std::vector<fs::path> match_wildcards(const fs::path& pattern) {
  glob_t found{};
  std::vector<fs::path> files;
  const auto is_fatal = [](const char* /*folder*/, int error) {
    return error != ENOENT && error != ENOTDIR ? 1 : 0;
  };
  const int result = ::glob(pattern.c_str(), 0, is_fatal, &found);
  if (result == 0) files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (result == 0 || result == GLOB_NOMATCH) return files;
  throw base::DataError(fmt::format("{}: a folder on the way cannot be listed; see who may read it",
                                    pattern.string()));
}

std::vector<fs::path> remote_files_of(const fs::path& path, const Storage& storage) {
  if (has_wildcards(path)) {
    if (has_wildcards(path.parent_path()))
      throw base::DataError(
          fmt::format("{}: of a remote path only the last part may have wildcards", path.string()));
    return matching_files(path.parent_path(), path.filename().string(), storage);
  }
  // Files are looked at later, all together.
  if (path.extension() == ".tar") return {path};
  return matching_files(path, "*.tar", storage);
}

std::vector<fs::path> files_of(const fs::path& path, const Storage& storage) {
  if (is_remote(path)) return remote_files_of(path, storage);
  const std::optional<FileFacts> facts = storage.facts(path.string());
  if (facts && facts->is_folder) return matching_files(path, "*.tar", storage);
  if (!facts && has_wildcards(path)) return match_wildcards(path);
  if (!facts) throw base::DataError(fmt::format("{}: no such shard", path.string()));
  return {path};
}

}  // namespace

bool has_wildcards(const fs::path& path) {
  return path.native().find_first_of("*?[") != std::string::npos;
}

std::vector<std::string> expand_braces(std::string_view text) {
  const std::size_t open = text.find('{');
  if (open == std::string_view::npos) return {std::string(text)};
  const std::size_t close = closing_brace(text, open);
  if (close == std::string_view::npos) {
    throw base::DataError(fmt::format("{}: a brace is not closed", text));
  }
  const std::string_view inner = text.substr(open + 1, close - open - 1);
  const auto range = expand_range(inner);
  const std::vector<std::string> middles = range ? *range : expand_list(inner);
  const std::vector<std::string> ends = expand_braces(text.substr(close + 1));
  check_count(std::uint64_t{middles.size()} * ends.size(), text);
  std::vector<std::string> texts;
  for (const std::string& middle : middles) {
    for (const std::string& end : ends) {
      texts.push_back(fmt::format("{}{}{}", text.substr(0, open), middle, end));
    }
  }
  return texts;
}

std::vector<fs::path> list_shards(const fs::path& root, const std::string& pattern,
                                  const std::shared_ptr<const Storage>& storage) {
  std::vector<fs::path> shards;
  try {
    for (const std::string& text : expand_braces(pattern)) {
      for (const fs::path& file : files_of(path_in(root, text), *storage)) {
        const bool is_relative = fs::path(text).is_relative() && !is_remote(text);
        shards.push_back(is_relative ? file.lexically_relative(root) : file);
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw base::DataError(
        fmt::format("{}: cannot list: {}", error.path1().string(), error.code().message()));
  }
  if (shards.empty()) {
    throw AbsentPartError(fmt::format("{}: no shards are named so", (root / pattern).string()));
  }
  return shards;
}

}  // namespace paceline::data
