#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/index/image_index.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/read_ahead.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// Image files (see is_image_name()) in one folder per class, `path`/`split`/<class>/**, with
/// torchvision's ImageFolder's order and labels (see ImageIndex). Samples are the files' bytes.
///
/// Labels follow the class folders of `label_split`, usually the training split, so that a
/// validation split which lacks a class keeps the others' labels. The list of files is kept (see
/// index_files()) and made anew when a folder has changed; that of remote files at each start,
/// by one of the processes of a machine that start together.
class ImageFolder final : public Dataset {
 public:
  /// Throws DataError that names the folder and what was expected there.
  ImageFolder(const std::filesystem::path& path, const std::string& split,
              const std::string& label_split,
              const std::shared_ptr<const Storage>& storage = local_storage());
  /// The same with given classes, in sorted order.
  ImageFolder(const std::filesystem::path& path, const std::string& split,
              std::vector<std::string> classes,
              std::shared_ptr<const Storage> storage = local_storage());
  ImageFolder(const ImageFolder&) = delete;
  ImageFolder& operator=(const ImageFolder&) = delete;

  std::int64_t size() const override { return index_.size(); }
  int num_classes() const override { return static_cast<int>(classes_.size()); }
  std::vector<std::string> class_names() const override { return classes_; }
  std::int64_t label(std::int64_t index) const override { return index_.label(index); }
  void get(std::int64_t index, StoredSample& sample) const override;
  bool reads_ahead() const override { return read_ahead_->is_on(); }
  void will_read(std::span<const std::int64_t> indices) const override;
  void will_read_no_more() const override;
  std::string name(std::int64_t index) const override;
  std::string describe(std::int64_t index) const override;
  LeftOut left_out() const override;
  std::string fingerprint() const override { return index_.fingerprint(); }

 private:
  std::unique_ptr<const InputFile> open(std::int64_t index) const;

  std::filesystem::path root_;
  std::vector<std::string> classes_;
  std::shared_ptr<const Storage> storage_;
  ImageIndex index_;
  std::unique_ptr<ReadAhead> read_ahead_;
};

struct ImageFolderConfig {
  std::string path;
  std::string train_folder = "train";
  std::string val_folder = "val";
};

/// Opens one split. Throws DataError if files are missing or wrong, ConfigError without a path.
std::unique_ptr<Dataset> open(const ImageFolderConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const ImageFolderConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ImageFolderConfig> {
  using Config = data::ImageFolderConfig;
  static constexpr std::string_view name = "image_folder";
  static constexpr std::string_view summary =
      "JPEG and PNG files in one folder per class, path/train/<class>/ and path/val/<class>/.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder that holds the training and validation folders.",
            Path{}, MayChangeOnResume{}),
      field(&Config::train_folder, "train_folder",
            "Name of the training folder; '.': classes lie in path itself."),
      field(&Config::val_folder, "val_folder", "Name of the validation folder.")};
};
