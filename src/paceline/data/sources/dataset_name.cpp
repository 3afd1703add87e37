#include "paceline/data/sources/dataset_name.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const fs::path& folder, const Storage& storage) {
  std::vector<std::string> names;
  for (FileEntry& entry : storage.list(folder.string())) names.push_back(std::move(entry.name));
  return names;
}

bool is_cifar(const std::string& name, const char* number) {
  return name.starts_with("cifar-" + std::string(number) + "-");
}

/// "n01440764.tar": ImageNet's images of one class.
bool is_class_tar(const std::string& name) {
  constexpr std::string_view kForm = "n00000000.tar";
  return name.size() == kForm.size() && name.front() == 'n' && name.ends_with(".tar") &&
         std::all_of(name.begin() + 1, name.begin() + 9,
                     [](char digit) { return digit >= '0' && digit <= '9'; });
}

bool is_array(const std::string& name) { return name.ends_with(".npy"); }

bool is_parquet(const std::string& name) { return name.ends_with(".parquet"); }

/// A table of images and labels; any folder may hold one, so that it has to be named itself.
bool is_list(const std::string& name) {
  const std::string lower = base::to_lower(name);
  return lower.ends_with(".csv") || lower.ends_with(".tsv");
}

/// Whether a folder is there and has a name in it for which `is_it` holds.
bool holds(const fs::path& folder, bool (*is_it)(const std::string& name), const Storage& storage) {
  return is_folder(storage, folder) && std::ranges::any_of(names_in(folder, storage), is_it);
}

}  // namespace

std::string dataset_name(const fs::path& path, const std::shared_ptr<const Storage>& storage) {
  const fs::path without_slash = path.has_filename() ? path : path.parent_path();
  const std::string own_name = without_slash.filename().string();
  if (is_cifar(own_name, "100")) return "cifar100";
  if (is_cifar(own_name, "10")) return "cifar10";
  if (is_list(own_name)) return "image_list";
  if (remote_scheme(path.native()).starts_with("http"))
    throw base::DataError(
        fmt::format("{}: HTTP servers do not list folders, so what this is cannot be seen; give "
                    "--format NAME (`paceline list datasets`) or a recipe",
                    path.string()));
  const std::vector<std::string> names = names_in(path, *storage);
  const auto any = [&](auto is_it) { return std::ranges::any_of(names, is_it); };
  const auto has = [&](std::string_view name) {
    return any([&](const std::string& other) { return other == name; });
  };
  for (const char* folder : {"", "train", "val"}) {
    if (storage->facts((path / folder / "manifest.json").string())) return "packed";
  }
  if (any([](const std::string& name) { return name.starts_with("ILSVRC"); }) ||
      has("LOC_val_solution.csv") || any(is_class_tar) ||
      holds(path / "train", is_class_tar, *storage))
    return "ilsvrc2012";
  if (has("data_batch_1") || has("data_batch_1.bin")) return "cifar10";
  if (has("train.bin") && has("fine_label_names.txt")) return "cifar100";
  if (has("meta") && is_file(*storage, path / "train")) return "cifar100";
  if (any([](const std::string& name) { return is_cifar(name, "100"); })) return "cifar100";
  if (any([](const std::string& name) { return is_cifar(name, "10"); })) return "cifar10";
  if (any([](const std::string& name) { return name.find("-idx3-ubyte") != std::string::npos; }))
    return "mnist";
  if (any([](const std::string& name) { return name.ends_with(".tar"); })) return "webdataset";
  if (any(is_parquet) || holds(path / "data", is_parquet, *storage)) return "parquet";
  if (has("ct_manifest.json")) return "ct";
  if (has("train_images.npy")) return "npy";
  if (holds(path / "train", is_array, *storage) || holds(path / "val", is_array, *storage))
    return "arrays";
  if (has("train") || has("val")) return "image_folder";
  throw base::DataError(fmt::format(
      "{}: no data set is known by the names in it; expected a folder train/ or val/ of classes, "
      "ILSVRC2012 tars, tar shards, Parquet files, a packed set, CIFAR, MNIST or .npy files; name "
      "a "
      "list of images itself (images.csv), or give "
      "--format NAME "
      "(`paceline list datasets`) or a recipe",
      path.string()));
}

}  // namespace paceline::data
