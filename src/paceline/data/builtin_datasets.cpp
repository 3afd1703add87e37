#include "paceline/data/builtin_datasets.h"

#include "paceline/base/error.h"
#include "paceline/data/cifar.h"
#include "paceline/data/image_folder.h"
#include "paceline/data/imagenet/ilsvrc2012.h"
#include "paceline/data/mnist.h"
#include "paceline/data/npy_dataset.h"
#include "paceline/data/pack/packed_dataset.h"
#include "paceline/data/parquet_dataset.h"
#include "paceline/data/synthetic.h"
#include "paceline/data/webdataset.h"

#include <fmt/format.h>

namespace paceline::data {
namespace {

void require_path(const std::string& path, std::string_view dataset) {
  if (path.empty()) {
    throw base::ConfigError(
        fmt::format("data.path is not set; {} needs the folder of its files", dataset));
  }
}

}  // namespace

std::unique_ptr<Dataset> open(const ImageFolderConfig& config, Split split) {
  require_path(config.path, "image_folder");
  const std::string& folder = split == Split::kTrain ? config.train_folder : config.val_folder;
  return std::make_unique<ImageFolder>(config.path, folder, config.train_folder);
}

std::unique_ptr<Dataset> open(const Ilsvrc2012Config& config, Split split) {
  require_path(config.path, "ilsvrc2012");
  return open_ilsvrc2012(config.path, config.val_labels, split == Split::kTrain);
}

std::unique_ptr<Dataset> open(const WebDatasetConfig& config, Split split) {
  require_path(config.path, "webdataset");
  const bool is_training = split == Split::kTrain;
  return open_webdataset({config.path, is_training ? config.train_shards : config.val_shards,
                          config.label_key, config.classes,
                          is_training ? "webdataset-train" : "webdataset-val"});
}

std::unique_ptr<Dataset> open(const ParquetConfig& config, Split split) {
  require_path(config.path, "parquet");
  const bool is_training = split == Split::kTrain;
  ParquetSource source;
  source.folder = config.path;
  source.files = is_training ? config.train_files : config.val_files;
  source.class_files = config.train_files;
  source.columns = {config.image_column, config.label_column};
  source.classes = config.classes;
  source.cache_name = is_training ? "parquet-train" : "parquet-val";
  return open_parquet(source);
}

std::unique_ptr<Dataset> open(const PackedConfig& config, Split split) {
  require_path(config.path, "packed");
  const std::string& folder = split == Split::kTrain ? config.train_folder : config.val_folder;
  return std::make_unique<PackedDataset>(std::filesystem::path(config.path) / folder);
}

std::unique_ptr<Dataset> open(const Cifar10Config& config, Split split) {
  require_path(config.path, "cifar10");
  return std::make_unique<Cifar>(CifarVariant::k10, config.path, split == Split::kTrain);
}

std::unique_ptr<Dataset> open(const Cifar100Config& config, Split split) {
  require_path(config.path, "cifar100");
  return std::make_unique<Cifar>(CifarVariant::k100, config.path, split == Split::kTrain);
}

std::unique_ptr<Dataset> open(const MnistConfig& config, Split split) {
  require_path(config.path, "mnist");
  return open_mnist(config.path, split == Split::kTrain);
}

std::unique_ptr<Dataset> open(const NpyConfig& config, Split split) {
  require_path(config.path, "npy");
  const bool is_training = split == Split::kTrain;
  const std::filesystem::path folder = config.path;
  return open_npy_dataset(folder / (is_training ? config.train_images : config.val_images),
                          folder / (is_training ? config.train_labels : config.val_labels),
                          config.classes);
}

std::unique_ptr<Dataset> open(const SyntheticConfig& config, Split split) {
  const bool is_training = split == Split::kTrain;
  return std::make_unique<SyntheticDataset>(
      is_training ? config.num_samples : config.num_val_samples, config.num_classes, config.size,
      is_training ? 0 : config.num_samples);
}

void check_num_classes(const Dataset& dataset, int num_classes) {
  if (num_classes >= dataset.num_classes()) return;
  throw base::DataError(fmt::format(
      "the data set has {} classes, so labels run to {}, but model.num_classes is {}: a label is "
      "out "
      "of range; set model.num_classes to {}",
      dataset.num_classes(), dataset.num_classes() - 1, num_classes, dataset.num_classes()));
}

}  // namespace paceline::data
