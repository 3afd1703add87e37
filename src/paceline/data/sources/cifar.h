#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

enum class CifarVariant { k10, k100 };

/// CIFAR-10 or CIFAR-100 (fine labels) as published: the binary or the Python version, extracted or
/// still in its .tar.gz. `path` is the folder of the batch files, the folder above it, the folder
/// of the archive or the archive itself. All pixels, 150 MB, are held in memory, as raw RGB images
/// of 32 x 32. Source: Krizhevsky, "Learning Multiple Layers of
/// Features from Tiny Images", 2009; https://www.cs.toronto.edu/~kriz/cifar.html
class Cifar final : public Dataset {
 public:
  /// Throws DataError that says where it looked, or names the file and record that is wrong.
  Cifar(CifarVariant variant, const std::filesystem::path& path, bool is_training);

  std::int64_t size() const override { return static_cast<std::int64_t>(labels_.size()); }
  int num_classes() const override { return static_cast<int>(class_names_.size()); }
  std::vector<std::string> class_names() const override { return class_names_; }
  std::int64_t label(std::int64_t index) const override {
    return labels_[static_cast<std::size_t>(index)];
  }
  void get(std::int64_t index, StoredSample& sample) const override;
  std::span<const std::uint8_t> memory_of(std::int64_t index) const override {
    return image(index);
  }
  std::string describe(std::int64_t index) const override;
  std::string fingerprint() const override;

 private:
  /// The images that one file gave.
  struct File {
    std::string name;
    std::int64_t count = 0;
  };

  std::span<const std::uint8_t> image(std::int64_t index) const;

  std::vector<File> files_;
  std::shared_ptr<const std::uint8_t> pixels_;  ///< of all images
  std::vector<std::uint8_t> labels_;
  std::vector<std::string> class_names_;
};

/// Where the files of a variant may lie, relative to the path that is given.
std::vector<std::string> cifar_files(CifarVariant variant);

struct Cifar10Config {
  std::string path;
};

struct Cifar100Config {
  std::string path;
};

/// Opens one split; remote files are copied to this machine first. Throws DataError if files are
/// missing or wrong, ConfigError without a path.
std::unique_ptr<Dataset> open(const Cifar10Config& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<Dataset> open(const Cifar100Config& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const Cifar10Config& config);
std::unique_ptr<DatasetPlan> make(const Cifar100Config& config);

}  // namespace paceline::data

template <>
struct paceline::config::Schema<paceline::data::Cifar10Config> {
  using Config = data::Cifar10Config;
  static constexpr std::string_view name = "cifar10";
  static constexpr std::string_view summary =
      "CIFAR-10, binary or Python version, extracted or as .tar.gz.";
  static constexpr std::string_view paper =
      "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The archive, or the folder of the archive or its files.",
            Path{}, MayChangeOnResume{})};
};

template <>
struct paceline::config::Schema<paceline::data::Cifar100Config> {
  using Config = data::Cifar100Config;
  static constexpr std::string_view name = "cifar100";
  static constexpr std::string_view summary =
      "CIFAR-100 with fine labels, binary or Python version, extracted or as .tar.gz.";
  static constexpr std::string_view paper =
      "Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The archive, or the folder of the archive or its files.",
            Path{}, MayChangeOnResume{})};
};
