#include "paceline/data/parquet/parquet_index.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/index/index_cache.h"
#include "paceline/data/index/label_lists.h"
#include "paceline/data/index/listing_progress.h"
#include "paceline/data/index/range_index_builder.h"
#include "paceline/data/index/shard_list.h"
#include "paceline/data/remote/remote_plugin.h"

#include <algorithm>
#include <span>
#include <utility>

#include <fnmatch.h>
#include <nlohmann/json.hpp>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

/// The files of a split, and those whose labels give the classes.
struct SplitFiles {
  std::vector<fs::path> files;
  std::vector<fs::path> class_files;
};

/// The files that match, relative to `root`; sorted.
std::vector<fs::path> match_files(const fs::path& root, const fs::path& pattern,
                                  const Storage& storage) {
  std::vector<fs::path> found = {""};
  for (const fs::path& part : pattern) {
    std::vector<fs::path> longer;
    for (const fs::path& path : found) {
      const fs::path folder = path.empty() ? root : root / path;
      if (!is_folder(storage, folder)) continue;
      for (const FileEntry& entry : storage.list(folder.string()))
        if (::fnmatch(part.c_str(), entry.name.c_str(), FNM_PERIOD) == 0)
          longer.push_back(path / entry.name);
    }
    found = std::move(longer);
  }
  return found;
}

/// The files themselves if they are there, nothing if none of them is. Throws DataError if only
/// some are.
std::vector<fs::path> existing_files(const fs::path& root, const std::vector<fs::path>& files,
                                     const Storage& storage) {
  std::vector<fs::path> places;
  places.reserve(files.size());
  for (const fs::path& file : files) places.push_back(root / file);
  const std::vector<std::optional<FileFacts>> facts = facts_of_all(storage, places);
  const auto is_there = [](const std::optional<FileFacts>& one) { return one.has_value(); };
  const auto missing = std::ranges::find_if_not(facts, is_there);
  if (missing == facts.end()) return files;
  if (std::ranges::none_of(facts, is_there)) return {};
  throw base::DataError(
      fmt::format("{}: there is no such file, but others are there that are named with it",
                  places[static_cast<std::size_t>(missing - facts.begin())].string()));
}

/// Files named by braces alone are asked for, as HTTP servers list no folders.
std::vector<fs::path> list_files(const fs::path& root, const std::string& pattern,
                                 const Storage& storage) {
  const std::vector<std::string> texts = expand_braces(pattern);
  if (!has_wildcards(pattern)) return existing_files(root, {texts.begin(), texts.end()}, storage);
  std::vector<fs::path> files;
  for (const std::string& text : texts)
    for (fs::path& file : match_files(root, text, storage)) files.push_back(std::move(file));
  return files;
}

SplitFiles list_split(const ParquetSource& source, const Storage& storage) {
  SplitFiles split;
  split.files = list_files(source.folder, source.files, storage);
  split.class_files = source.class_files == source.files
                          ? split.files
                          : list_files(source.folder, source.class_files, storage);
  if (split.files.empty()) {
    throw AbsentPartError(
        fmt::format("{}: no files are named so; set data.train_files and data.val_files",
                    (source.folder / source.files).string()));
  }
  // Without a training split the validation split's own labels give the classes.
  if (split.class_files.empty()) split.class_files = split.files;
  return split;
}

class IndexMaker {
 public:
  IndexMaker(const ParquetSource& source, std::shared_ptr<const Storage> storage)
      : source_(source), storage_(std::move(storage)) {}

  RangeIndex make(const SplitFiles& split, const std::string& key) {
    RangeIndexBuilder builder(source_.folder, key, storage_);
    builder.add_sources(split.files);
    std::vector<ParquetListing> listings = list(split.files);
    if (std::ranges::any_of(listings, [](const auto& one) { return !one.label_texts.empty(); })) {
      number_texts(split, builder, listings);
    }
    find_classes(split.files, listings);
    for (std::size_t i = 0; i < listings.size(); ++i) {
      add_rows(static_cast<std::uint32_t>(i), listings[i], builder);
      listings[i] = {};  // names take memory
    }
    if (builder.size() == 0)
      throw base::DataError(
          fmt::format("{}: holds no rows", (source_.folder / source_.files).string()));
    return builder.finish(classes_);
  }

 private:
  std::vector<ParquetListing> list(const std::vector<fs::path>& files) const {
    const RemotePlugin& plugin = load_remote_plugin();
    std::vector<ParquetListing> listings(files.size());
    ListingProgress progress((source_.folder / source_.files).string(), *storage_);
    base::parallel_for(std::ssize(files), storage_->num_connections(), [&](std::int64_t i) {
      const auto which = static_cast<std::size_t>(i);
      listings[which] = plugin.list_parquet(
          storage_->open((source_.folder / files[which]).string()), source_.columns);
      check_rows(files[which], listings[which]);
      progress.add(listings[which].num_rows);
    });
    return listings;
  }

  void check_rows(const fs::path& file, const ParquetListing& listing) const {
    const auto rows = static_cast<std::size_t>(listing.num_rows);
    std::int64_t in_pages = 0;
    for (const ParquetPage& page : listing.pages) in_pages += page.num_rows;
    const std::size_t num_labels = listing.labels.size() + listing.label_texts.size();
    const bool has_all_labels = listing.has_lists
                                    ? listing.list_ends.size() == rows &&
                                          (rows == 0 || listing.list_ends.back() == num_labels)
                                    : num_labels == rows;
    if (in_pages != listing.num_rows || !has_all_labels ||
        (!listing.names.empty() && listing.names.size() != rows)) {
      throw base::DataError(fmt::format("{}: its columns differ in length from its {} rows",
                                        (source_.folder / file).string(), rows));
    }
  }

  /// Turns texts into numbers by the sorted texts of the training split.
  void number_texts(const SplitFiles& split, RangeIndexBuilder& builder,
                    std::vector<ParquetListing>& listings) {
    if (split.class_files != split.files) {
      builder.add_sources(split.class_files);
      collect_texts(list(split.class_files));
    } else {
      collect_texts(listings);
    }
    for (std::size_t i = 0; i < listings.size(); ++i) {
      ParquetListing& listing = listings[i];
      for (const std::string& text : listing.label_texts) {
        const auto found = std::ranges::lower_bound(classes_, text);
        if (found == classes_.end() || *found != text) {
          fail_at(split.files[i], listing.row_of_label(listing.labels.size()),
                  fmt::format("label '{}', which the training files do not have", text));
        }
        listing.labels.push_back(found - classes_.begin());
      }
      if (listing.labels.size() < listing.label_texts.size() ||
          (!listing.has_lists && std::ssize(listing.labels) != listing.num_rows))
        fail_at(split.files[i], 0, "an integer as its label, while other files have texts");
    }
  }

  void collect_texts(const std::vector<ParquetListing>& listings) {
    for (const ParquetListing& listing : listings)
      classes_.insert(classes_.end(), listing.label_texts.begin(), listing.label_texts.end());
    std::ranges::sort(classes_);
    classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
  }

  /// The classes' names, and whether all labels are among them.
  void find_classes(const std::vector<fs::path>& files,
                    const std::vector<ParquetListing>& listings) {
    constexpr std::int64_t kMaxClasses = 10'000'000;
    if (classes_.empty()) classes_ = names_in_metadata(listings.front());
    const bool is_given = source_.classes && *source_.classes != std::ssize(classes_);
    if (is_given) classes_.clear();
    std::int64_t limit = source_.classes.value_or(static_cast<int>(classes_.size()));
    if (limit == 0) limit = kMaxClasses;
    std::int64_t largest = -1;
    for (std::size_t i = 0; i < listings.size(); ++i) {
      for (std::size_t row = 0; row < listings[i].labels.size(); ++row) {
        const std::int64_t label = listings[i].labels[row];
        if (label < 0 || label >= limit) {
          fail_at(files[i], listings[i].row_of_label(row),
                  fmt::format("label {}, expected a number from 0 to {}", label, limit - 1));
        }
        largest = std::max(largest, label);
      }
    }
    if (!classes_.empty()) return;
    const std::int64_t count = source_.classes.value_or(static_cast<int>(largest + 1));
    for (std::int64_t i = 0; i < count; ++i) classes_.push_back(std::to_string(i));
  }

  /// What Hugging Face's writer knows of the label column; nothing if it says nothing.
  static std::vector<std::string> names_in_metadata(const ParquetListing& listing) {
    nlohmann::json parsed;
    try {
      parsed = base::parse_json(listing.huggingface);
    } catch (const base::JsonError&) {  // another writer's, which says nothing either
      return {};
    }
    const std::string feature = "/info/features/" + listing.label_column;
    for (const char* const within : {"/names", "/feature/names", "/0/names"}) {  // of lists, too
      const nlohmann::json::json_pointer place(feature + within);
      if (parsed.contains(place)) return texts_in(parsed.at(place));
    }
    return {};
  }

  /// Nothing if one of them is no text.
  static std::vector<std::string> texts_in(const nlohmann::json& list) {
    std::vector<std::string> names;
    for (const nlohmann::json& name : list) {
      if (!name.is_string()) return {};
      names.push_back(name.get<std::string>());
    }
    return names;
  }

  void add_rows(std::uint32_t source, const ParquetListing& listing,
                RangeIndexBuilder& builder) const {
    std::size_t row = 0;
    for (const ParquetPage& page : listing.pages) {
      for (std::int64_t i = 0; i < page.num_rows; ++i, ++row) {
        const bool is_named = !listing.names.empty() && !listing.names[row].empty();
        std::string name = is_named ? listing.names[row] : std::to_string(builder.size());
        const std::span<const std::int64_t> labels = listing.labels_of(row);
        if (listing.has_lists) name = name_with_labels(name, labels);
        builder.add(source, page.offset, page.size, labels.empty() ? 0 : labels.front(), name);
      }
    }
  }

  [[noreturn]] void fail_at(const fs::path& file, std::int64_t row,
                            const std::string& problem) const {
    throw base::DataError(
        fmt::format("{}: row {} has {}", (source_.folder / file).string(), row, problem));
  }

  const ParquetSource& source_;
  std::shared_ptr<const Storage> storage_;
  std::vector<std::string> classes_;
};

}  // namespace

RangeIndex open_parquet_index(const ParquetSource& source,
                              const std::shared_ptr<const Storage>& storage) {
  const SplitFiles split = list_split(source, *storage);
  std::string key = fmt::format("parquet {} {} {}", source.columns.image, source.columns.label,
                                source.classes.value_or(0));
  for (const auto* files : {&split.files, &split.class_files})
    for (const fs::path& file : *files) key += " " + file.string();
  return load_or_make(
      index_files(source.folder, source.cache_name), *storage,
      [&](const fs::path& file) { return RangeIndex::load(file, source.folder, key, storage); },
      [&] { return IndexMaker(source, storage).make(split, key); });
}

}  // namespace paceline::data
