#pragma once

#include "paceline/config/schema.h"
#include "paceline/data/dataset/dataset.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/sources/dataset_plan.h"
#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace paceline::data {

/// MNIST and what comes in its form (Fashion-MNIST, KMNIST, EMNIST under MNIST's names): grey
/// images in train-images-idx3-ubyte and t10k-images-idx3-ubyte, labels in the files of idx1, each
/// as it is or as .gz, in `folder`, folder/raw, folder/MNIST/raw or folder/FashionMNIST/raw. Plain
/// files are mapped, compressed ones held in memory. There are as many classes as the labels of
/// both splits name. Source: LeCun et al., yann.lecun.com/exdb/mnist.
///
/// Throws DataError that says where it looked, or names the file that is wrong.
std::unique_ptr<Dataset> open_mnist(const std::filesystem::path& folder, bool is_training);

/// Where the files may lie, relative to the folder.
std::vector<std::string> mnist_files();

struct MnistConfig {
  std::string path;
};

/// Opens one split; remote files are copied to this machine first. Throws DataError if files are
/// missing or wrong, ConfigError without a path.
std::unique_ptr<Dataset> open(const MnistConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage = local_storage());
std::unique_ptr<DatasetPlan> make(const MnistConfig& config);

}  // namespace paceline::data

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
