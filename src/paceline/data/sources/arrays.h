#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/formats/npy_file.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// NumPy's arrays of any rank beside each other, of which each is a field: what stands at index i
/// of their first axes is sample i. They are mapped, not read.
class ArrayDataset final : public Dataset {
 public:
  /// NAME.npy in `folder` for each of `names`; none: for each such file there. uint8, int16, int32,
  /// int64, float16 or float32. One called labels, of integers and shape (N), says the classes,
  /// `num_classes` or by default one more than the largest; without it one called targets, of
  /// floats and shape (N, classes). Throws DataError that names the file.
  ArrayDataset(const std::filesystem::path& folder, std::vector<std::string> names,
               std::optional<int> num_classes);

  std::int64_t size() const override { return size_; }
  int num_classes() const override { return num_classes_; }
  std::vector<std::string> class_names() const override;
  std::int64_t label(std::int64_t index) const override {
    return labels_.empty() ? 0 : labels_[static_cast<std::size_t>(index)];
  }
  void get(std::int64_t index, StoredSample& sample) const override;
  std::vector<FieldSpec> stored_fields() const override { return fields_; }
  std::string describe(std::int64_t index) const override;
  /// Of the fields, all labels, and 4 KiB in the middle of 1,000 samples: volumes are large.
  std::string fingerprint() const override;

 private:
  void take_labels(const NpyArray& array, std::optional<int> num_classes);
  std::span<const std::uint8_t> bytes_of_sample(std::size_t field, std::int64_t index) const;
  void check_files() const;

  std::filesystem::path folder_;
  std::vector<NpyArray> arrays_;
  std::vector<FieldSpec> fields_;
  std::int64_t size_ = 0;
  std::vector<std::int64_t> labels_;  ///< empty: there are none
  int num_classes_ = 0;
};

struct ArraysConfig {
  std::string path;
  std::string train_folder = "train";
  std::string val_folder = "val";
  std::vector<std::string> fields = {};
  std::optional<int> classes = {};
};

/// Opens one split; remote files are copied to this machine first. Throws DataError if files are
/// missing or wrong, ConfigError without a path.
std::unique_ptr<Dataset> open(const ArraysConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const ArraysConfig& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::ArraysConfig> {
  using Config = data::ArraysConfig;
  static constexpr std::string_view name = "arrays";
  static constexpr std::string_view summary =
      "NumPy's arrays of any rank, a NAME.npy for each field of the samples, mapped into memory.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder that holds the training and validation folders.",
            Path{}, MayChangeOnResume{}),
      field(&Config::train_folder, "train_folder", "Name of the training folder."),
      field(&Config::val_folder, "val_folder", "Name of the validation folder."),
      field(&Config::fields, "fields",
            "Names of the arrays, without .npy, whose first axes count the samples; empty: all in "
            "the folder. One called labels, of integers, holds classes.",
            PlainName{}),
      field(&Config::classes, "classes",
            "Number of classes; null: one more than the split's largest label.", AtLeast{1},
            AtMost{10'000'000, "no classifier has more outputs"})};
};
