#include "paceline/data/sources/webdataset.h"

#include "paceline/base/error.h"
#include "paceline/base/json.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/formats/tar_reader.h"
#include "paceline/data/index/index_cache.h"
#include "paceline/data/index/listing_progress.h"
#include "paceline/data/index/range_index_builder.h"
#include "paceline/data/index/shard_list.h"
#include "paceline/data/sources/dataset_place.h"
#include "paceline/data/sources/range_dataset.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxLabelBytes = 1 << 20;
constexpr std::string_view kBlanks = " \t\r\n";

/// A member's name in two: up to the first dot of the last part, and behind it in lower case.
/// Both are empty for names that belong to no sample.
struct SplitName {
  std::string key;
  std::string ending;
};

SplitName split_name(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t base = slash == std::string::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', base);
  if (dot == std::string::npos || dot == base || name.compare(base, 2, "__") == 0) return {};
  SplitName split{name.substr(0, dot), name.substr(dot + 1)};
  std::transform(split.ending.begin(), split.ending.end(), split.ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return split;
}

/// The members of a sample that matter.
struct SampleGroup {
  std::string key;
  std::optional<TarMember> image;
  std::optional<std::string> label;  ///< content of the member that holds it
};

struct IndexedSample {
  TarMember image;
  std::int64_t label = 0;
};

class ShardLister {
 public:
  ShardLister(const InputFile& file, const std::string& label_key)
      : file_(file), label_key_(label_key) {}

  std::vector<IndexedSample> list() {
    TarReader reader(file_);
    SampleGroup group;
    for (TarMember member; reader.next(member);) {
      SplitName name = split_name(member.name);
      if (name.key != group.key) {
        finish(group);
        group = {name.key, {}, {}};
      }
      if (name.key.empty()) continue;
      if (name.ending == "jpg" || name.ending == "jpeg" || name.ending == "png") {
        group.image = member;
      } else if (name.ending == (label_key_.empty() ? "cls" : "json")) {
        if (member.size > kMaxLabelBytes) fail(name.key, "has a label of more than 1 MiB");
        group.label = reader.read(member);  // now, while it is at hand
      }
    }
    finish(group);
    return std::move(samples_);
  }

 private:
  void finish(SampleGroup& group) {
    if (!group.image && !group.label) return;
    if (!group.image) fail(group.key, "has a label but no image (.jpg, .jpeg or .png)");
    if (!group.label) {
      fail(group.key, label_key_.empty()
                          ? "has no label in a .cls; set data.label_key to take it from the .json"
                          : "has no .json to take data.label_key from");
    }
    const std::int64_t label = label_key_.empty() ? class_text(group) : class_in_json(group);
    samples_.push_back({*std::move(group.image), label});
  }

  std::int64_t class_text(const SampleGroup& group) const {
    const std::string& text = *group.label;
    std::string_view digits = text;
    digits.remove_prefix(std::min(digits.find_first_not_of(kBlanks), digits.size()));
    digits.remove_suffix(digits.size() - (digits.find_last_not_of(kBlanks) + 1));
    const char* const end = digits.data() + digits.size();
    std::int64_t label = -1;
    const auto [behind, error] = std::from_chars(digits.data(), end, label);
    if (error != std::errc() || behind != end || label < 0) {
      fail(group.key, fmt::format("has '{}' as its class, expected a number from 0", text));
    }
    return label;
  }

  nlohmann::json json_of(const SampleGroup& group) const {
    try {
      return base::parse_json(*group.label);
    } catch (const base::JsonError& error) {
      fail(group.key, fmt::format("has a damaged .json: {}", error.what()));
    }
  }

  std::int64_t class_in_json(const SampleGroup& group) const {
    const nlohmann::json parsed = json_of(group);
    if (!parsed.is_object()) fail(group.key, "has a damaged .json");
    const auto found = parsed.find(label_key_);
    if (found == parsed.end()) fail(group.key, fmt::format("has no '{}' in its .json", label_key_));
    if (!found->is_number_integer() || *found < 0) {
      fail(group.key, fmt::format("has {} as '{}' in its .json, expected a number from 0",
                                  found->dump(), label_key_));
    }
    return found->get<std::int64_t>();
  }

  [[noreturn]] void fail(const std::string& key, const std::string& problem) const {
    throw base::DataError(fmt::format("{}: sample {} {}", file_.path(), key, problem));
  }

  const InputFile& file_;
  const std::string& label_key_;
  std::vector<IndexedSample> samples_;
};

/// Numbers serve as names.
std::vector<std::string> numbered_classes(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < count; ++i) names.push_back(std::to_string(i));
  return names;
}

RangeIndex make_index(const WebDatasetSource& source, const std::vector<fs::path>& shards,
                      const std::string& key, const std::shared_ptr<const Storage>& storage) {
  RangeIndexBuilder builder(source.folder, key, storage);
  builder.add_sources(shards);
  std::vector<std::vector<IndexedSample>> listed(shards.size());
  ListingProgress progress((source.folder / source.shards).string(), *storage);
  base::parallel_for(
      static_cast<std::int64_t>(shards.size()), storage->num_connections(), [&](std::int64_t i) {
        const auto which = static_cast<std::size_t>(i);
        const auto file = storage->open(path_in(source.folder, shards[which]).string());
        listed[which] = ShardLister(*file, source.label_key).list();
        progress.add(std::ssize(listed[which]));
      });
  constexpr std::int64_t kMaxClasses = 10'000'000;
  const std::int64_t limit = source.classes.value_or(kMaxClasses);
  std::int64_t largest = -1;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    for (const IndexedSample& sample : listed[i]) {
      if (sample.label >= limit) {
        throw base::DataError(fmt::format("{}: {} has label {}, expected less than {} classes",
                                          (source.folder / shards[i]).string(), sample.image.name,
                                          sample.label, limit));
      }
      largest = std::max(largest, sample.label);
      builder.add(static_cast<std::uint32_t>(i), sample.image.offset, sample.image.size,
                  sample.label, sample.image.name);
    }
  }
  if (builder.size() == 0) {
    throw base::DataError(fmt::format("{}: holds no samples such as x.jpg with x.{}",
                                      (source.folder / source.shards).string(),
                                      source.label_key.empty() ? "cls" : "json"));
  }
  return builder.finish(numbered_classes(source.classes.value_or(static_cast<int>(largest + 1))));
}

}  // namespace

std::unique_ptr<Dataset> open_webdataset(const WebDatasetSource& source,
                                         const std::shared_ptr<const Storage>& storage) {
  const std::vector<fs::path> shards = list_shards(source.folder, source.shards, storage);
  std::string key = fmt::format("webdataset {} {}", source.label_key, source.classes.value_or(0));
  for (const fs::path& shard : shards) key += " " + shard.string();
  return std::make_unique<RangeDataset>(
      load_or_make(
          index_files(source.folder, source.cache_name), *storage,
          [&](const fs::path& file) { return RangeIndex::load(file, source.folder, key, storage); },
          [&] { return make_index(source, shards, key, storage); }),
      storage);
}

std::unique_ptr<Dataset> open(const WebDatasetConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  const std::filesystem::path place = place_of(config.path, "webdataset");
  const bool is_training = split == Split::kTrain;
  return open_webdataset(
      {place, is_training ? config.train_shards : config.val_shards, config.label_key,
       config.classes, is_training ? "webdataset-train" : "webdataset-val"},
      storage);
}

std::unique_ptr<DatasetPlan> make(const WebDatasetConfig& config) {
  return plan_of(config, photo_transforms());
}

}  // namespace paceline::data
