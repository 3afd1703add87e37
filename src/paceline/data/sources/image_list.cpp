#include "paceline/data/sources/image_list.h"

#include "paceline/base/error.h"
#include "paceline/data/dataset/file_dataset.h"
#include "paceline/data/index/label_lists.h"
#include "paceline/data/sources/dataset_place.h"
#include "paceline/data/sources/image_list_index.h"
#include "paceline/data/storage/read_ahead.h"

#include <filesystem>
#include <utility>
#include <vector>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

class ImageList final : public FileDataset {
 public:
  ImageList(RangeIndex index, fs::path root, bool has_label_lists,
            std::shared_ptr<const Storage> storage)
      : index_(std::move(index)),
        classes_(index_.classes()),
        root_(std::move(root)),
        has_label_lists_(has_label_lists),
        storage_(std::move(storage)),
        read_ahead_(read_ahead_from(*storage_, root_, [this](std::uint64_t sample) {
          return open(static_cast<std::int64_t>(sample));
        })) {}

  std::int64_t size() const override { return index_.size(); }
  int num_classes() const override { return static_cast<int>(classes_.size()); }
  std::vector<std::string> class_names() const override { return classes_; }
  std::int64_t label(std::int64_t index) const override { return index_.label(index); }
  bool has_label_lists() const override { return has_label_lists_; }
  std::string name(std::int64_t index) const override {
    return std::string(name_and_labels(index_.name(index)).name);
  }
  std::string describe(std::int64_t index) const override {
    return path_in(root_, without_file_scheme(name(index))).string();
  }
  std::string fingerprint() const override { return index_.fingerprint(); }

  void get(std::int64_t index, StoredSample& sample) const override {
    sample.width = 0;
    sample.height = 0;
    sample.label = index_.label(index);
    if (has_label_lists_) {
      sample.labels = name_and_labels(index_.name(index)).labels.value_or(sample.labels);
      if (sample.labels.empty()) sample.label = kNoLabel;
    }
    try {
      read(index, sample.bytes);
    } catch (const base::DataError& error) {
      throw base::DataError(fmt::format("{}, line {}: {}", index_.source(0).string(),
                                        index_.range(index).offset, error.what()));
    }
  }

 private:
  void read(std::int64_t index, std::vector<std::uint8_t>& bytes) const {
    if (read_ahead_->take(index, bytes)) return;
    const TimedRead timed(*read_ahead_);
    const std::shared_ptr<const InputFile> file = open(index);
    bytes.resize(file->size());
    file->read(0, bytes);
  }

  std::shared_ptr<const InputFile> open(std::int64_t index) const {
    return storage_->open(describe(index));
  }

  ReadAhead& ahead() const override { return *read_ahead_; }
  std::optional<ReadAheadPart> part_of(std::int64_t index) const override {
    return ReadAheadPart{
        .key = index, .file = static_cast<std::uint64_t>(index), .is_whole_file = true};
  }

  RangeIndex index_;
  std::vector<std::string> classes_;
  fs::path root_;
  bool has_label_lists_;
  std::shared_ptr<const Storage> storage_;
  std::unique_ptr<ReadAhead> read_ahead_;
};

std::unique_ptr<Dataset> open_list(const ImageListConfig& config, ListedSamples samples,
                                   const std::shared_ptr<const Storage>& storage) {
  const fs::path file = place_of(config.path, "image_list");
  fs::path root = config.root.empty() ? folder_of_list(file) : fs::path(config.root);
  return std::make_unique<ImageList>(open_image_list_index(file, config, samples, storage),
                                     without_file_scheme(root.string()),
                                     config.label_delimiter.has_value(), storage);
}

}  // namespace

std::unique_ptr<Dataset> open(const ImageListConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  const bool is_training = split == Split::kTrain;
  return open_list(config, is_training ? ListedSamples::kTraining : ListedSamples::kValidation,
                   storage);
}

std::unique_ptr<DatasetPlan> make(const ImageListConfig& config) {
  auto plan = plan_of(config, photo_transforms());
  plan->open = [config](Split split, const std::shared_ptr<const Storage>& storage,
                        const std::optional<std::string>& val_path) {
    if (split == Split::kTrain || !val_path) return open(config, split, storage);
    return open_list(with_val_path(config, *val_path, *storage), ListedSamples::kValidationOrAll,
                     storage);
  };
  return plan;
}

}  // namespace paceline::data
