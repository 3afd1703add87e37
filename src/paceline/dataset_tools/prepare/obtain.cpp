#include "paceline/dataset_tools/prepare/obtain.h"

#include "paceline/base/error.h"
#include "paceline/base/sync_all.h"
#include "paceline/data/formats/archive_reader.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include <fmt/ranges.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

std::string join_path(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

std::optional<LocatedFile> find_file(const PublishedFile& file, const std::string& path,
                                     const data::Storage& storage) {
  const std::optional<data::FileFacts> facts = storage.facts(path);
  if (!facts || facts->is_folder) return std::nullopt;
  return LocatedFile{&file, path, facts->size, facts->changed};
}

std::vector<LocatedFile> locate_by_urls(const KnownSet& set, const data::Storage& storage) {
  std::vector<LocatedFile> located;
  for (const PublishedFile& file : set.files) {
    if (file.url.empty()) {
      throw base::ConfigError(
          fmt::format("{} has no public address: {}", set.name, set.how_to_get));
    }
    const auto found = find_file(file, file.url, storage);
    if (!found) {
      throw base::DataError(fmt::format(
          "{}: is not there (any more); give --from a folder, file or place that has {}", file.url,
          file.name));
    }
    located.push_back(*found);
  }
  return located;
}

/// What is not among `located` but needed.
std::string missing_of(const KnownSet& set, const std::vector<LocatedFile>& located) {
  std::vector<std::string> missing;
  std::vector<std::string> alternatives;
  bool has_alternative = false;
  for (const PublishedFile& file : set.files) {
    const bool is_found =
        std::ranges::any_of(located, [&](const LocatedFile& other) { return other.file == &file; });
    if (file.is_alternative) {
      alternatives.push_back(file.name);
      has_alternative = has_alternative || is_found;
    } else if (!is_found) {
      missing.push_back(file.name);
    }
  }
  if (!has_alternative && !alternatives.empty())
    missing.push_back(fmt::format("one of {}", fmt::join(alternatives, ", ")));
  return fmt::format("{}", fmt::join(missing, " and "));
}

/// What the others wait for, and what a later call trusts: that these very files were checked.
std::string ready_text(const KnownSet& set, const std::vector<LocatedFile>& located) {
  std::string text = fmt::format("{} is complete and checked, from\n", set.name);
  for (const LocatedFile& file : located)
    text += fmt::format("{} {} {}\n", file.path, file.size_bytes, file.changed);
  return text;
}

bool is_plain_name(const std::string& name) {
  return !name.starts_with('.') && fs::path(name).filename() == name;
}

/// Tiny-ImageNet's validation images lie in one folder beside a list of names and classes: gives
/// each class a folder.
void sort_into_classes(const fs::path& val, base::FileSystem& files) {
  const fs::path list = val / "val_annotations.txt";
  if (!fs::exists(list)) return;
  std::ifstream lines(list);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string image;
    std::string wnid;
    if (!(words >> image >> wnid) || !is_plain_name(image) || !is_plain_name(wnid) ||
        !fs::exists(val / "images" / image)) {
      throw base::DataError(
          fmt::format("{}: '{}' is no image of val/images and its class", list.string(), line));
    }
    files.create_directories(val / wnid);
    files.rename(val / "images" / image, val / wnid / image);
  }
  if (!fs::is_empty(val / "images")) {
    throw base::DataError(fmt::format("{}: names not all images of val/images", list.string()));
  }
  files.remove_all(val / "images");
}

class Obtaining {
 public:
  Obtaining(const KnownSet& set, const std::vector<LocatedFile>& located,
            const data::Storage& storage, const ObtainOptions& options, base::FileSystem& files,
            const WorkReports& reports)
      : set_(set),
        located_(located),
        storage_(storage),
        options_(options),
        files_(files),
        reports_(reports),
        ready_(options.folder / "ready.txt"),
        unpacked_(options.folder / "unpacked") {}

  ImageSource run() {
    if (options_.is_first) {
      if (!is_ready()) work();
    } else {
      wait();
    }
    if (!set_.folder_in_archive.empty())
      return {set_.format, (unpacked_ / set_.folder_in_archive).string()};
    const bool is_one_archive = located_.size() == 1;
    const fs::path first = place_of(located_.front());
    return {set_.format, (is_one_archive ? first : first.parent_path()).string()};
  }

 private:
  fs::path place_of(const LocatedFile& file) const {
    return data::is_remote(file.path) ? options_.folder / file.file->name : fs::path(file.path);
  }

  bool is_ready() const {
    const auto is_there = [&](const LocatedFile& file) { return fs::exists(place_of(file)); };
    return fs::exists(ready_) && base::read_file(ready_) == ready_text(set_, located_) &&
           std::ranges::all_of(located_, is_there);
  }

  void work() {
    files_.create_directories(options_.folder);
    for (const LocatedFile& file : located_) {
      const auto progress = [&](std::uint64_t done, std::uint64_t total) {
        const auto megabytes = [](std::uint64_t bytes) {
          return static_cast<std::int64_t>((bytes + 999'999) / 1'000'000);
        };
        if (reports_.progress)
          reports_.progress("MB of " + file.file->name, megabytes(done), megabytes(total));
      };
      if (data::is_remote(file.path)) {
        fetch(storage_, file.path, file.file->md5, place_of(file), options_.fetch, files_,
              progress);
      } else if (!file.file->md5.empty()) {
        check_md5(storage_, file.path, file.file->md5, progress);
      }
    }
    if (!set_.folder_in_archive.empty()) unpack(place_of(located_.front()));
    base::write_file_atomically(files_, ready_, ready_text(set_, located_));
  }

  void unpack(const fs::path& archive) {
    if (reports_.say) reports_.say("unpacking " + archive.filename().string());
    const fs::path partial = unpacked_.string() + ".partial";
    files_.remove_all(partial);
    files_.remove_all(unpacked_);
    data::unpack_archive(archive, partial, files_);
    sort_into_classes(partial / set_.folder_in_archive / "val", files_);
    // Before ready.txt, which syncs the name, says that it is whole.
    base::sync_all(files_, partial);
    files_.rename(partial, unpacked_);
  }

  void wait() const {
    for (bool is_told = false; !is_ready(); is_told = true) {
      if (!is_told && reports_.say)
        reports_.say(fmt::format("waiting for {}, which --shard 1/N writes when all is there",
                                 ready_.string()));
      std::this_thread::sleep_for(std::chrono::duration<double>(options_.look_every_s));
    }
  }

  const KnownSet& set_;
  const std::vector<LocatedFile>& located_;
  const data::Storage& storage_;
  const ObtainOptions& options_;
  base::FileSystem& files_;
  const WorkReports& reports_;
  const fs::path ready_;
  const fs::path unpacked_;
};

}  // namespace

std::vector<LocatedFile> locate_files(const KnownSet& set, const std::string& from,
                                      const data::Storage& storage) {
  if (from.empty()) return locate_by_urls(set, storage);
  std::vector<LocatedFile> located;
  for (const PublishedFile& file : set.files) {
    if (const auto found = find_file(file, join_path(from, file.name), storage))
      located.push_back(*found);
  }
  if (located.empty() && set.files.size() == 1) {
    if (const auto found = find_file(set.files.front(), from, storage)) return {*found};
  }
  const std::string missing = missing_of(set, located);
  if (missing.empty()) return located;
  if (located.empty() || !data::is_remote(from)) return {};
  throw base::DataError(fmt::format("{}: {} is not there", from, missing));
}

ImageSource obtain_images(const KnownSet& set, const std::string& from,
                          const std::vector<LocatedFile>& located, const data::Storage& storage,
                          const ObtainOptions& options, base::FileSystem& files,
                          const WorkReports& reports) {
  if (located.empty()) return {"", from};
  return Obtaining(set, located, storage, options, files, reports).run();
}

}  // namespace paceline::dataset_tools
