#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/storage/storage.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace paceline::data {

/// The two parts of a data set. CIFAR's test files are its kVal.
enum class Split { kTrain, kVal };

struct ImageFolderConfig {
  std::string path;
  std::string train_folder = "train";
  std::string val_folder = "val";
};

struct Ilsvrc2012Config {
  std::string path;
  std::string val_labels;
};

struct WebDatasetConfig {
  std::string path;
  std::string train_shards = "*train*.tar";
  std::string val_shards = "*val*.tar";
  std::string label_key;
  std::optional<int> classes;
};

struct ParquetConfig {
  std::string path;
  std::string train_files = "{data/,}train-*.parquet";
  std::string val_files = "{data/,}validation-*.parquet";
  std::string image_column = "image";
  std::string label_column = "label";
  std::optional<int> classes;
};

struct PackedConfig {
  std::string path;
  std::string train_folder = "train";
  std::string val_folder = "val";
};

struct Cifar10Config {
  std::string path;
};

struct Cifar100Config {
  std::string path;
};

struct MnistConfig {
  std::string path;
};

struct NpyConfig {
  std::string path;
  std::string train_images = "train_images.npy";
  std::string train_labels = "train_labels.npy";
  std::string val_images = "val_images.npy";
  std::string val_labels = "val_labels.npy";
  std::optional<int> classes;
};

struct SyntheticConfig {
  std::int64_t num_samples = 1024;
  std::int64_t num_val_samples = 256;
  int num_classes = 10;
  int size = 32;
};

/// Open one split. The path is one of this machine, or one that `storage` knows; CIFAR, MNIST and
/// .npy files of other machines are copied to this one first. Throw DataError if files are missing
/// or wrong, ConfigError if a needed setting is.
std::unique_ptr<Dataset> open(const ImageFolderConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<Dataset> open(const Ilsvrc2012Config& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<Dataset> open(const WebDatasetConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<Dataset> open(const ParquetConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<Dataset> open(const PackedConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<Dataset> open(const Cifar10Config& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<Dataset> open(const Cifar100Config& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<Dataset> open(const MnistConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<Dataset> open(const NpyConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<Dataset> open(const SyntheticConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());

/// Throws ConfigError unless data.path is set, which `dataset` needs.
void require_path(std::string_view path, std::string_view dataset);

/// Throws DataError unless a model for `num_classes` classes suits the data set; says which to
/// change.
void check_num_classes(const Dataset& dataset, int num_classes);

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

template <>
struct paceline::config::Schema<paceline::data::Ilsvrc2012Config> {
  using Config = data::Ilsvrc2012Config;
  static constexpr std::string_view name = "ilsvrc2012";
  static constexpr std::string_view summary =
      "ImageNet-1k as published: the train and validation tars, read in place, or Kaggle's "
      "folders.";
  static constexpr std::string_view paper =
      "Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, IJCV 2015";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path",
            "The folder of ILSVRC2012_img_train.tar and ILSVRC2012_img_val.tar, of a folder train/ "
            "of class tars, or of Kaggle's ILSVRC/.",
            Path{}, MayChangeOnResume{}),
      field(&Config::val_labels, "val_labels",
            "Where the classes of the validation images stand: the development kit (folder or "
            ".tar.gz), LOC_val_solution.csv or a text file of names and classes; empty: what of "
            "these is in path.",
            Path{}, MayChangeOnResume{})};
};

template <>
struct paceline::config::Schema<paceline::data::WebDatasetConfig> {
  using Config = data::WebDatasetConfig;
  static constexpr std::string_view name = "webdataset";
  static constexpr std::string_view summary =
      "Tars in WebDataset's form, x.jpg beside x.cls or x.json, read at random places.";
  static constexpr std::string_view paper =
      "Aizman et al., High Performance I/O For Large Scale Deep Learning, 2019";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder of the shards.", Path{}, MayChangeOnResume{}),
      field(
          &Config::train_shards, "train_shards",
          "The training shards: braces as in 'train-{000000..000063}.tar', wildcards, or a folder "
          "of tars; quote braces in YAML.",
          NotEmpty{}),
      field(&Config::val_shards, "val_shards", "The validation shards, named in the same way.",
            NotEmpty{}),
      field(&Config::label_key, "label_key",
            "Key of the class's number in the samples' .json; empty: their .cls holds it."),
      field(&Config::classes, "classes",
            "Number of classes; null: one more than the split's largest label.", AtLeast{1},
            AtMost{10'000'000, "no classifier has more outputs"})};
};

template <>
struct paceline::config::Schema<paceline::data::ParquetConfig> {
  using Config = data::ParquetConfig;
  static constexpr std::string_view name = "parquet";
  static constexpr std::string_view summary =
      "Parquet files of images and labels, as Hugging Face keeps them, read at random places.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder of the files, as /data/x or hf:owner/name.", Path{},
            MayChangeOnResume{}),
      field(&Config::train_files, "train_files",
            "The training files: wildcards, braces as in 'train-{00000..00293}-of-00294.parquet', "
            "or both; quote them in YAML. Files named by braces alone must all be there.",
            NotEmpty{}),
      field(&Config::val_files, "val_files", "The validation files, named in the same way.",
            NotEmpty{}),
      field(&Config::image_column, "image_column",
            "The column of the images' bytes: binary, or a struct with a part `bytes`.",
            NotEmpty{}),
      field(&Config::label_column, "label_column",
            "The column of the labels: integers from 0, or the classes' names.", NotEmpty{}),
      field(&Config::classes, "classes",
            "Number of classes; null: as many as the files name, or one more than the split's "
            "largest label.",
            AtLeast{1}, AtMost{10'000'000, "no classifier has more outputs"})};
};

template <>
struct paceline::config::Schema<paceline::data::PackedConfig> {
  using Config = data::PackedConfig;
  static constexpr std::string_view name = "packed";
  static constexpr std::string_view summary =
      "What `paceline data pack` writes: samples in verified shards.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder that holds the training and validation folders.",
            Path{}, MayChangeOnResume{}),
      field(&Config::train_folder, "train_folder", "Name of the training folder."),
      field(&Config::val_folder, "val_folder", "Name of the validation folder.")};
};

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

template <>
struct paceline::config::Schema<paceline::data::MnistConfig> {
  using Config = data::MnistConfig;
  static constexpr std::string_view name = "mnist";
  static constexpr std::string_view summary =
      "MNIST, Fashion-MNIST and others in their form: idx files, compressed or not.";
  static constexpr std::string_view paper =
      "LeCun et al., Gradient-Based Learning Applied to Document Recognition, 1998";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path",
            "The folder of train-images-idx3-ubyte and the three other files, or of raw/.", Path{},
            MayChangeOnResume{})};
};

template <>
struct paceline::config::Schema<paceline::data::NpyConfig> {
  using Config = data::NpyConfig;
  static constexpr std::string_view name = "npy";
  static constexpr std::string_view summary =
      "NumPy's arrays of uint8 images and integer labels, mapped into memory.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields = std::tuple{
      field(&Config::path, "path", "The folder of the .npy files.", Path{}, MayChangeOnResume{}),
      field(&Config::train_images, "train_images",
            "Training images: (N, H, W, 3), (N, 3, H, W) or (N, H, W).", NotEmpty{}),
      field(&Config::train_labels, "train_labels", "Training labels: (N).", NotEmpty{}),
      field(&Config::val_images, "val_images", "Validation images.", NotEmpty{}),
      field(&Config::val_labels, "val_labels", "Validation labels.", NotEmpty{}),
      field(&Config::classes, "classes",
            "Number of classes; null: one more than the split's largest label.", AtLeast{1},
            AtMost{10'000'000, "no classifier has more outputs"})};
};

template <>
struct paceline::config::Schema<paceline::data::SyntheticConfig> {
  using Config = data::SyntheticConfig;
  static constexpr std::string_view name = "synthetic";
  static constexpr std::string_view summary =
      "Noise under stripes that tell the class, made in memory; for benchmarks and tests.";
  static constexpr std::string_view paper = "";
  static constexpr auto fields =
      std::tuple{field(&Config::num_samples, "num_samples", "Training samples.", AtLeast{1},
                       AtMost{10'000'000'000, "no data set has more"}),
                 field(&Config::num_val_samples, "num_val_samples", "Validation samples.",
                       AtLeast{1}, AtMost{10'000'000'000, "no data set has more"}),
                 field(&Config::num_classes, "num_classes", "Number of classes.", AtLeast{1},
                       AtMost{10'000'000, "no classifier has more outputs"}),
                 field(&Config::size, "size", "Height and width in pixels.", InRange{1, 4096})};
};
