#include "paceline/data/sources/image_files.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/data/index/image_listing.h"
#include "paceline/data/storage/storage.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <glob.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

bool has_hidden_name(const fs::path& path) { return path.filename().string().starts_with('.'); }

void add_folder(const fs::path& folder, std::vector<fs::path>& files) {
  const auto first = std::ssize(files);
  const auto options = fs::directory_options::follow_directory_symlink;
  for (fs::recursive_directory_iterator entry(folder, options), end; entry != end; ++entry) {
    if (has_hidden_name(entry->path())) {
      if (entry->is_directory()) entry.disable_recursion_pending();
    } else if (is_image_name(entry->path().filename().string()) && !entry->is_directory()) {
      files.push_back(entry->path());
    }
  }
  if (std::ssize(files) == first)
    throw base::DataError(
        fmt::format("{}: no image is in this folder or below it: expected files such as *.jpg or "
                    "*.png; name another",
                    folder.string()));
  std::sort(files.begin() + first, files.end());
}

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

void add_word(const std::string& word, std::vector<fs::path>& files) {
  std::error_code unknown;
  if (fs::is_directory(word, unknown)) return add_folder(word, files);
  if (fs::exists(word, unknown) || word.find_first_of("*?[") == std::string::npos) {
    files.emplace_back(word);
    return;
  }
  const std::vector<std::string> paths = matches_of(word);
  if (paths.empty())
    throw base::DataError(fmt::format("{}: no file is found by this pattern", word));
  for (const std::string& path : paths) {
    if (fs::is_directory(path, unknown)) {
      add_folder(path, files);
    } else {
      files.emplace_back(path);
    }
  }
}

class ImageFiles final : public Dataset {
 public:
  explicit ImageFiles(std::vector<fs::path> files) : files_(std::move(files)) {}

  std::int64_t size() const override { return std::ssize(files_); }
  std::int64_t label(std::int64_t) const override { return kNoLabel; }
  void get(std::int64_t index, StoredSample& sample) const override {
    const LocalFile file(path(index));
    sample.bytes.resize(file.size());
    file.read(0, sample.bytes);
    sample.width = 0;
    sample.height = 0;
    sample.label = kNoLabel;
  }
  std::string name(std::int64_t index) const override { return path(index).string(); }
  std::string describe(std::int64_t index) const override { return path(index).string(); }
  std::string fingerprint() const override {
    std::string paths;
    for (const fs::path& file : files_) paths += file.string() + '\0';
    return "image_files:" + base::xxh3_128_hex(paths);
  }

 private:
  static constexpr std::int64_t kNoLabel = -1;

  const fs::path& path(std::int64_t index) const {
    return files_.at(static_cast<std::size_t>(index));
  }

  std::vector<fs::path> files_;
};

}  // namespace

std::vector<fs::path> find_image_files(std::span<const std::string> words) try {
  std::vector<fs::path> files;
  for (const std::string& word : words) add_word(word, files);
  return files;
} catch (const fs::filesystem_error& error) {
  throw base::DataError(
      fmt::format("{}: cannot list: {}", error.path1().string(), error.code().message()));
}

std::unique_ptr<Dataset> open_image_files(std::vector<fs::path> files) {
  return std::make_unique<ImageFiles>(std::move(files));
}

}  // namespace paceline::data
