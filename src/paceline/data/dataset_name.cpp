#include "paceline/data/dataset_name.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <vector>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    names.push_back(entry.path().filename().string());
  if (error) throw base::DataError(fmt::format("{}: {}", folder.string(), error.message()));
  return names;
}

bool is_cifar(const std::string& name, const char* number) {
  return name.starts_with("cifar-" + std::string(number) + "-");
}

}  // namespace

std::string dataset_name(const fs::path& path) {
  const std::string own_name = path.filename().string();
  if (is_cifar(own_name, "100")) return "cifar100";
  if (is_cifar(own_name, "10")) return "cifar10";
  const std::vector<std::string> names = names_in(path);
  const auto any = [&](auto holds) { return std::ranges::any_of(names, holds); };
  const auto has = [&](std::string_view name) {
    return any([&](const std::string& other) { return other == name; });
  };
  for (const char* folder : {"", "train", "val"}) {
    if (fs::exists(path / folder / "manifest.json")) return "packed";
  }
  if (any([](const std::string& name) { return name.starts_with("ILSVRC"); })) return "ilsvrc2012";
  if (has("data_batch_1") || has("data_batch_1.bin")) return "cifar10";
  if (has("train.bin") && has("fine_label_names.txt")) return "cifar100";
  if (any([](const std::string& name) { return is_cifar(name, "100"); })) return "cifar100";
  if (any([](const std::string& name) { return is_cifar(name, "10"); })) return "cifar10";
  if (any([](const std::string& name) { return name.find("-idx3-ubyte") != std::string::npos; }))
    return "mnist";
  if (any([](const std::string& name) { return name.ends_with(".tar"); })) return "webdataset";
  if (has("train_images.npy")) return "npy";
  if (has("train") || has("val")) return "image_folder";
  throw base::DataError(fmt::format(
      "{}: no data set is known by the names in it; expected a folder train/ or val/ of classes, "
      "ILSVRC2012 tars, tar shards, a packed set, CIFAR, MNIST or .npy files; give --format NAME "
      "(`paceline list datasets`) or a recipe",
      path.string()));
}

}  // namespace paceline::data
