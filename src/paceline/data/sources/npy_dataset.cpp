#include "paceline/data/sources/npy_dataset.h"

#include "paceline/base/error.h"
#include "paceline/data/formats/npy_file.h"
#include "paceline/data/sources/dataset_place.h"
#include "paceline/data/sources/raw_dataset.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

namespace paceline::data {
namespace {

RawImages as_images(const NpyArray& array) {
  const std::vector<std::int64_t>& shape = array.shape;
  require_integers(array);
  RawImages images{.source = array.name,
                   .owner = array.owner,
                   .bytes = array.bytes.data(),
                   .layout = RawLayout::kGray,
                   .mapping = array.owner};
  std::size_t height_axis = 1;
  if (shape.size() == 4 && shape[3] == 3) {
    images.layout = RawLayout::kRgb;
  } else if (shape.size() == 4 && shape[1] == 3) {
    images.layout = RawLayout::kPlanar;
    height_axis = 2;
  } else if (shape.size() != 3) {
    throw base::DataError(
        fmt::format("{}: shape ({}), expected images as (N, H, W, 3), (N, 3, H, W) or (N, H, W)",
                    array.name, fmt::join(shape, ", ")));
  }
  if (array.kind != 'u' || array.item_size != 1) {
    throw base::DataError(
        fmt::format("{}: images of {}{}, expected uint8; save them by "
                    "array.astype('uint8')",
                    array.name, array.kind == 'u' ? "uint" : "int", 8 * array.item_size));
  }
  images.count = shape[0];
  images.height = shape[height_axis];
  images.width = shape[height_axis + 1];
  return images;
}

}  // namespace

std::unique_ptr<Dataset> open_npy_dataset(const std::filesystem::path& images,
                                          const std::filesystem::path& labels,
                                          std::optional<int> num_classes) {
  const NpyArray label_array = open_npy(labels);
  if (label_array.shape.size() != 1) {
    throw base::DataError(fmt::format("{}: shape ({}), expected labels as (N)", label_array.name,
                                      fmt::join(label_array.shape, ", ")));
  }
  std::vector<std::int64_t> values = npy_integers(label_array);
  const std::int64_t largest = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  constexpr std::int64_t kMaxClasses = 10'000'000;
  const int count = num_classes.value_or(static_cast<int>(std::min(largest + 1, kMaxClasses)));
  return std::make_unique<RawDataset>(as_images(open_npy(images)), std::move(values), count,
                                      label_array.name);
}

std::unique_ptr<Dataset> open(const NpyConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  const bool is_training = split == Split::kTrain;
  const std::string& images = is_training ? config.train_images : config.val_images;
  const std::string& labels = is_training ? config.train_labels : config.val_labels;
  const std::filesystem::path folder =
      local_place_of(config.path, "npy", storage, {images, labels});
  if (is_folder(*storage, folder) && !is_file(*storage, folder / images) &&
      !is_file(*storage, folder / labels))
    throw AbsentPartError(fmt::format("{}: no such file", (folder / images).string()));
  return open_npy_dataset(folder / images, folder / labels, config.classes);
}

std::unique_ptr<DatasetPlan> make(const NpyConfig& config) {
  return plan_of(config, photo_transforms());
}

}  // namespace paceline::data
