#include "paceline/dataset_tools/prepare/prepare.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/data/pack/manifest.h"

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

/// Bytes of a pack per byte of the images' files, about.
double growth_of(data::PackMode mode) {
  switch (mode) {
    case data::PackMode::kFiles:
      return 1.0;
    case data::PackMode::kIndexed:
      return 1.03;
    case data::PackMode::kCoefficients:
      return 1.6;
    case data::PackMode::kPixels:
      return 5.5;
  }
  return 1.0;
}

std::uint64_t bytes_in(const fs::path& path) {
  std::uint64_t sum = 0;
  std::error_code error;  // files come and go while other parts work
  for (fs::recursive_directory_iterator entry(path, error), end; entry != end;
       entry.increment(error)) {
    const std::uint64_t size = entry->is_regular_file(error) ? entry->file_size(error) : 0;
    if (!error) sum += size;
  }
  return sum;
}

class Preparation {
 public:
  Preparation(const KnownSet& set, const PrepareOptions& options,
              const PrepareSurroundings& surroundings)
      : set_(set),
        options_(options),
        from_(data::without_file_scheme(options.from)),
        surroundings_(surroundings),
        downloads_(options.pack.folder / "downloads") {}

  PrepareResult run() {
    PrepareResult result;
    result.was_complete = is_packed(data::Split::kTrain) && is_packed(data::Split::kVal);
    if (!result.was_complete) {
      const ImageSource source = obtain();
      const std::unique_ptr<data::Dataset> train = open(source, data::Split::kTrain);
      const std::unique_ptr<data::Dataset> val = open(source, data::Split::kVal);
      result.train = pack_split(*train, data::Split::kTrain);
      result.val = pack_split(*val, data::Split::kVal);
    }
    if (result.is_complete() && !options_.keeps_downloads)
      surroundings_.files.remove_all(downloads_);
    return result;
  }

 private:
  static std::string name_of_split(data::Split split) {
    return split == data::Split::kTrain ? "train" : "val";
  }
  fs::path folder_of(data::Split split) const {
    return options_.pack.folder / name_of_split(split);
  }
  const ExpectedCounts& expected(data::Split split) const {
    return split == data::Split::kTrain ? set_.train : set_.val;
  }

  /// Throws ConfigError if there is a pack of something else.
  bool is_packed(data::Split split) const {
    const fs::path folder = folder_of(split);
    if (!fs::exists(folder / data::kPackManifestName)) return false;
    const data::PackManifest manifest = data::read_pack_manifest(folder);
    if (std::ssize(manifest.classes) == set_.classes &&
        manifest.num_samples() == expected(split).samples &&
        manifest.mode == name_of(options_.pack.mode))
      return true;
    throw base::ConfigError(fmt::format(
        "{} holds {} samples of {} classes, packed as {}: not {} as {}; name another folder or "
        "remove it",
        folder.string(), base::format_count(manifest.num_samples()), manifest.classes.size(),
        manifest.mode, set_.name, name_of(options_.pack.mode)));
  }

  ImageSource obtain() {
    const auto located = locate_files(set_, from_, surroundings_.storage);
    require_room(located);
    ObtainOptions how{.folder = downloads_,
                      .fetch = options_.fetch,
                      .is_first = options_.pack.part == 0,
                      .look_every_s = options_.look_every_s};
    if (!how.fetch.say) how.fetch.say = surroundings_.reports.say;
    return obtain_images(set_, from_, located, surroundings_.storage, how, surroundings_.files,
                         surroundings_.reports);
  }

  /// For all parts together: what is there already was counted before it came.
  void require_room(const std::vector<LocatedFile>& located) const {
    const double growth = set_.is_pixels ? 1.0 : growth_of(options_.pack.mode);
    double needed = growth * static_cast<double>(set_.image_bytes);
    for (const LocatedFile& file : located)
      if (data::is_remote(file.path)) needed += static_cast<double>(file.size_bytes);
    if (!set_.folder_in_archive.empty() && !located.empty())
      needed += static_cast<double>(set_.image_bytes);
    const fs::path& folder = options_.pack.folder;
    surroundings_.files.create_directories(folder);
    for (const fs::path& made :
         {downloads_, folder_of(data::Split::kTrain), folder_of(data::Split::kVal)})
      needed -= static_cast<double>(bytes_in(made));
    const auto free = static_cast<double>(fs::space(folder).available);
    if (needed <= free) return;
    throw base::ConfigError(fmt::format(
        "{}: {} needs about {} more there, but only {} are free; free some, or name a folder of "
        "another disk",
        folder.string(), set_.name, base::format_bytes(static_cast<std::uint64_t>(needed)),
        base::format_bytes(static_cast<std::uint64_t>(free))));
  }

  std::unique_ptr<data::Dataset> open(const ImageSource& source, data::Split split) const {
    auto dataset = surroundings_.open(source, split);
    check_counts(*dataset, set_, expected(split), name_of_split(split));
    return dataset;
  }

  data::PackResult pack_split(const data::Dataset& dataset, data::Split split) const {
    data::PackOptions how = options_.pack;
    how.folder = folder_of(split);
    const std::string what = name_of_split(split) + " samples";
    return pack(dataset, how, surroundings_.files, [&](std::int64_t done, std::int64_t total) {
      if (surroundings_.reports.progress) surroundings_.reports.progress(what, done, total);
    });
  }

  const KnownSet& set_;
  const PrepareOptions& options_;
  const std::string from_;
  const PrepareSurroundings& surroundings_;
  const fs::path downloads_;
};

}  // namespace

PrepareResult prepare(const KnownSet& set, const PrepareOptions& options,
                      const PrepareSurroundings& surroundings) {
  return Preparation(set, options, surroundings).run();
}

}  // namespace paceline::dataset_tools
