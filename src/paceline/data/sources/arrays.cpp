#include "paceline/data/sources/arrays.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/data/sources/dataset_place.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace paceline::data {
namespace {

constexpr std::string_view kEnding = ".npy";

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(kEnding)) names.push_back(name.substr(0, name.size() - kEnding.size()));
  }
  std::ranges::sort(names);
  return names;
}

std::string file_of(const std::string& name) { return name + std::string(kEnding); }

FieldSpec field_of(const NpyArray& array, const std::string& name) {
  const std::string type = fmt::format("{}{}",
                                       array.kind == 'u'   ? "uint"
                                       : array.kind == 'i' ? "int"
                                                           : "float",
                                       8 * array.item_size);
  const auto known = field_type_named(type);
  if (!known || known == FieldType::kFloat64)
    throw base::DataError(fmt::format(
        "{}: holds {}, expected uint8, int16, int32, int64, float16 or float32; save it by "
        "array.astype('{}'), or name others in data.fields",
        array.name, type, array.kind == 'f' ? "float32" : "int32"));
  if (array.shape.empty())
    throw base::DataError(
        fmt::format("{}: is a single number, expected an array whose first axis "
                    "counts the samples",
                    array.name));
  FieldSpec field{
      .name = name, .type = *known, .sizes = {array.shape.begin() + 1, array.shape.end()}};
  if (is_too_large(field))
    throw base::DataError(
        fmt::format("{}: takes 4 GiB or more of each sample; cut them into pieces", array.name));
  return field;
}

}  // namespace

ArrayDataset::ArrayDataset(const std::filesystem::path& folder, std::vector<std::string> names,
                           std::optional<int> num_classes)
    : folder_(folder) {
  if (names.empty()) names = names_in(folder);
  if (names.empty())
    throw base::DataError(
        fmt::format("{}: holds no .npy file; expected one for each field", folder.string()));
  for (const std::string& name : names) {
    NpyArray array = open_npy(folder / file_of(name));
    fields_.push_back(field_of(array, name));
    if (arrays_.empty()) size_ = array.shape[0];
    if (array.shape[0] != size_)
      throw base::DataError(fmt::format("{}: holds {} samples by its first axis, but {} holds {}",
                                        array.name, array.shape[0], arrays_.front().name, size_));
    if (name == kLabelsField && array.shape.size() == 1 && array.kind != 'f')
      take_labels(array, num_classes);
    if (name == kTargetsField && array.shape.size() == 2 && array.kind == 'f' && labels_.empty())
      num_classes_ = static_cast<int>(array.shape[1]);
    arrays_.push_back(std::move(array));
  }
}

void ArrayDataset::take_labels(const NpyArray& array, std::optional<int> num_classes) {
  labels_ = npy_integers(array);
  constexpr std::int64_t kMaxClasses = 10'000'000;
  const std::int64_t largest = labels_.empty() ? 0 : std::ranges::max(labels_);
  num_classes_ = num_classes.value_or(static_cast<int>(std::min(largest + 1, kMaxClasses)));
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i] < 0 || labels_[i] >= num_classes_)
      throw base::DataError(fmt::format("{}: label {} of sample {}, expected 0 to {}", array.name,
                                        labels_[i], i, num_classes_ - 1));
  }
}

std::vector<std::string> ArrayDataset::class_names() const {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(num_classes_));
  for (int i = 0; i < num_classes_; ++i) names.push_back(std::to_string(i));
  return names;
}

void ArrayDataset::check_files() const {
  for (const NpyArray& array : arrays_) {
    if (!array.owner->is_whole())
      throw base::DataError(fmt::format(
          "{}: the file has become shorter since it was opened; copy it again", array.name));
  }
}

std::span<const std::uint8_t> ArrayDataset::bytes_of_sample(std::size_t field,
                                                            std::int64_t index) const {
  const std::size_t size = sample_bytes(fields_[field]);
  return arrays_[field].bytes.subspan(static_cast<std::size_t>(index) * size, size);
}

void ArrayDataset::get(std::int64_t index, StoredSample& sample) const {
  check_files();
  sample.width = 0;
  sample.height = 0;
  sample.label = label(index);
  sample.bytes.resize(sample_bytes(fields_));
  auto target = sample.bytes.begin();
  for (std::size_t i = 0; i < fields_.size(); ++i)
    target = std::ranges::copy(bytes_of_sample(i, index), target).out;
}

std::string ArrayDataset::describe(std::int64_t index) const {
  return fmt::format("{}: sample {}", folder_.string(), index);
}

std::string ArrayDataset::fingerprint() const {
  check_files();
  constexpr std::size_t kMostBytes = 4096;
  base::Xxh3Stream hash;
  hash.update({reinterpret_cast<const char*>(labels_.data()), labels_.size() * sizeof labels_[0]});
  const std::int64_t step = std::max<std::int64_t>(1, size_ / 1000);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    hash.update(data::describe(fields_[i]));
    for (std::int64_t index = 0; index < size_; index += step) {
      const auto bytes = bytes_of_sample(i, index);
      const std::size_t count = std::min(bytes.size(), kMostBytes);
      const auto middle = bytes.subspan((bytes.size() - count) / 2, count);
      hash.update({reinterpret_cast<const char*>(middle.data()), middle.size()});
    }
  }
  return fmt::format("arrays:{}:{}:{:016x}", size_, num_classes_, hash.digest());
}

std::unique_ptr<Dataset> open(const ArraysConfig& config, Split split,
                              const std::shared_ptr<const Storage>& storage) {
  const std::string part = folder_of(config.train_folder, config.val_folder, split);
  if (is_remote(config.path) && config.fields.empty())
    throw base::ConfigError("data.fields: name the arrays of a data set that lies far away");
  std::vector<std::string> files;
  for (const std::string& name : config.fields)
    files.push_back((std::filesystem::path(part) / file_of(name)).string());
  const std::filesystem::path place = local_place_of(config.path, "arrays", storage, files);
  const std::filesystem::path folder = part.empty() ? place : place / part;
  if (!std::filesystem::is_directory(folder) && std::filesystem::is_directory(place))
    throw AbsentPartError(fmt::format(
        "{}: no such folder; expected .npy files in it, one for each field", folder.string()));
  if (!std::filesystem::is_directory(folder))
    throw base::DataError(fmt::format("{}: no such folder", folder.string()));
  return std::make_unique<ArrayDataset>(folder, config.fields, config.classes);
}

std::unique_ptr<DatasetPlan> make(const ArraysConfig& config) {
  auto plan = plan_of(config, UsualTransforms{});
  plan->may_store_fields = true;
  return plan;
}

}  // namespace paceline::data
