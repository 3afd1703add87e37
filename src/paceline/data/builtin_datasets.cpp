#include "paceline/data/builtin_datasets.h"

#include "paceline/base/error.h"
#include "paceline/data/pack/packed_dataset.h"
#include "paceline/data/parquet/parquet_dataset.h"
#include "paceline/data/sources/cifar.h"
#include "paceline/data/sources/image_folder.h"
#include "paceline/data/sources/imagenet/ilsvrc2012.h"
#include "paceline/data/sources/local_copy.h"
#include "paceline/data/sources/mnist.h"
#include "paceline/data/sources/npy_dataset.h"
#include "paceline/data/sources/synthetic.h"
#include "paceline/data/sources/webdataset.h"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using StoragePointer = std::shared_ptr<const Storage>;

fs::path place_of(const std::string& path, std::string_view dataset) {
  require_path(path, dataset);
  return without_file_scheme(path);
}

/// "." is the data set's folder itself.
std::string folder_of(const std::string& train_folder, const std::string& val_folder, Split split) {
  const std::string& folder = split == Split::kTrain ? train_folder : val_folder;
  return folder == "." ? "" : folder;
}

/// The same on this machine.
fs::path local_place_of(const std::string& path, std::string_view dataset,
                        const StoragePointer& storage, const std::vector<std::string>& files) {
  fs::path place = place_of(path, dataset);
  if (!is_remote(place)) return place;
  return copy_to_this_machine(*storage, place.string(), files);
}

}  // namespace

std::unique_ptr<Dataset> open(const ImageFolderConfig& config, Split split,
                              const StoragePointer& storage) {
  const fs::path place = place_of(config.path, "image_folder");
  const std::string folder = folder_of(config.train_folder, config.val_folder, split);
  const std::string labels = folder_of(config.train_folder, config.val_folder, Split::kTrain);
  return std::make_unique<ImageFolder>(place, folder, labels, storage);
}

std::unique_ptr<Dataset> open(const Ilsvrc2012Config& config, Split split,
                              const StoragePointer& storage) {
  const fs::path place = place_of(config.path, "ilsvrc2012");
  return open_ilsvrc2012(place, config.val_labels, split == Split::kTrain, storage);
}

std::unique_ptr<Dataset> open(const WebDatasetConfig& config, Split split,
                              const StoragePointer& storage) {
  const fs::path place = place_of(config.path, "webdataset");
  const bool is_training = split == Split::kTrain;
  return open_webdataset(
      {place, is_training ? config.train_shards : config.val_shards, config.label_key,
       config.classes, is_training ? "webdataset-train" : "webdataset-val"},
      storage);
}

std::unique_ptr<Dataset> open(const ParquetConfig& config, Split split,
                              const StoragePointer& storage) {
  const bool is_training = split == Split::kTrain;
  ParquetSource source;
  source.folder = place_of(config.path, "parquet");
  source.files = is_training ? config.train_files : config.val_files;
  source.class_files = config.train_files;
  source.columns = {config.image_column, config.label_column};
  source.classes = config.classes;
  source.cache_name = is_training ? "parquet-train" : "parquet-val";
  return open_parquet(source, storage);
}

std::unique_ptr<Dataset> open(const PackedConfig& config, Split split,
                              const StoragePointer& storage) {
  const fs::path place = place_of(config.path, "packed");
  const std::string folder = folder_of(config.train_folder, config.val_folder, split);
  if (!is_folder(*storage, place / folder) && is_folder(*storage, place)) {
    throw AbsentPartError(fmt::format(
        "{}: no such folder; expected what `paceline data pack` writes, with its manifest.json",
        (place / folder).string()));
  }
  return std::make_unique<PackedDataset>(place / folder, storage);
}

std::unique_ptr<Dataset> open(const Cifar10Config& config, Split split,
                              const StoragePointer& storage) {
  const fs::path place =
      local_place_of(config.path, "cifar10", storage, cifar_files(CifarVariant::k10));
  return std::make_unique<Cifar>(CifarVariant::k10, place, split == Split::kTrain);
}

std::unique_ptr<Dataset> open(const Cifar100Config& config, Split split,
                              const StoragePointer& storage) {
  const fs::path place =
      local_place_of(config.path, "cifar100", storage, cifar_files(CifarVariant::k100));
  return std::make_unique<Cifar>(CifarVariant::k100, place, split == Split::kTrain);
}

std::unique_ptr<Dataset> open(const MnistConfig& config, Split split,
                              const StoragePointer& storage) {
  return open_mnist(local_place_of(config.path, "mnist", storage, mnist_files()),
                    split == Split::kTrain);
}

std::unique_ptr<Dataset> open(const NpyConfig& config, Split split, const StoragePointer& storage) {
  const bool is_training = split == Split::kTrain;
  const std::string& images = is_training ? config.train_images : config.val_images;
  const std::string& labels = is_training ? config.train_labels : config.val_labels;
  const fs::path folder = local_place_of(config.path, "npy", storage, {images, labels});
  if (is_folder(*storage, folder) && !is_file(*storage, folder / images) &&
      !is_file(*storage, folder / labels))
    throw AbsentPartError(fmt::format("{}: no such file", (folder / images).string()));
  return open_npy_dataset(folder / images, folder / labels, config.classes);
}

std::unique_ptr<Dataset> open(const SyntheticConfig& config, Split split,
                              const StoragePointer& /*storage*/) {
  const bool is_training = split == Split::kTrain;
  return std::make_unique<SyntheticDataset>(
      is_training ? config.num_samples : config.num_val_samples, config.num_classes, config.size,
      is_training ? 0 : config.num_samples);
}

void require_path(std::string_view path, std::string_view dataset) {
  if (!path.empty()) return;
  throw base::ConfigError(fmt::format(
      "data.path: is not set, and {} needs the folder of its files: write it", dataset));
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
