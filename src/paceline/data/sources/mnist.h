#pragma once

#include "paceline/data/dataset/dataset.h"

#include <filesystem>
#include <memory>
#include <string>
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

}  // namespace paceline::data
