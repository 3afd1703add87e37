#include "paceline/data/sources/raw_dataset.h"

#include "paceline/base/error.h"
#include "paceline/base/hash.h"
#include "paceline/data/formats/interleave.h"
#include "paceline/data/image/limits.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace paceline::data {

RawDataset::RawDataset(RawImages images, std::vector<std::int64_t> labels, int num_classes,
                       const std::string& label_source)
    : images_(std::move(images)), labels_(std::move(labels)), num_classes_(num_classes) {
  if (images_.height < 1 || images_.width < 1 || images_.height > kMaxPixels / images_.width) {
    throw base::DataError(
        fmt::format("{}: images of {} x {} pixels", images_.source, images_.width, images_.height));
  }
  if (static_cast<std::int64_t>(labels_.size()) != images_.count) {
    throw base::DataError(fmt::format("{}: {} labels, but {} holds {} images", label_source,
                                      labels_.size(), images_.source, images_.count));
  }
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    if (labels_[i] < 0 || labels_[i] >= num_classes) {
      throw base::DataError(fmt::format("{}: label {} of sample {}, expected 0 to {}", label_source,
                                        labels_[i], i, num_classes - 1));
    }
  }
}

std::vector<std::string> RawDataset::class_names() const {
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(num_classes_));
  for (int i = 0; i < num_classes_; ++i) names.push_back(std::to_string(i));
  return names;
}

void RawDataset::check_mapping() const {
  if (images_.mapping == nullptr || images_.mapping->is_whole()) return;
  throw base::DataError(fmt::format(
      "{}: the file has become shorter since it was opened; copy it again", images_.source));
}

void RawDataset::get(std::int64_t index, StoredSample& sample) const {
  check_mapping();
  const std::uint8_t* const source = image(index);
  const std::size_t pixels =
      static_cast<std::size_t>(images_.height) * static_cast<std::size_t>(images_.width);
  sample.width = static_cast<int>(images_.width);
  sample.height = static_cast<int>(images_.height);
  sample.label = label(index);
  sample.bytes.resize(3 * pixels);
  std::uint8_t* const target = sample.bytes.data();
  if (images_.layout == RawLayout::kRgb) {
    std::memcpy(target, source, 3 * pixels);
    return;
  }
  interleave_planes(source, images_.layout == RawLayout::kGray ? 0 : pixels, pixels, target);
}

std::span<const std::uint8_t> RawDataset::memory_of(std::int64_t index) const {
  return {image(index), static_cast<std::size_t>(images_.image_bytes())};
}

std::string RawDataset::describe(std::int64_t index) const {
  return fmt::format("{}: image {}", images_.source, index);
}

std::string RawDataset::fingerprint() const {
  check_mapping();
  base::Xxh3Stream hash;
  const auto add = [&hash](const void* start, std::size_t size) {
    hash.update({static_cast<const char*>(start), size});
  };
  add(labels_.data(), labels_.size() * sizeof labels_[0]);
  const std::int64_t step = std::max<std::int64_t>(1, size() / 1000);
  for (std::int64_t i = 0; i < size(); i += step) {
    add(image(i), static_cast<std::size_t>(images_.image_bytes()));
  }
  return fmt::format("raw:{}:{}x{}:{}:{:016x}", size(), images_.height, images_.width, num_classes_,
                     hash.digest());
}

}  // namespace paceline::data
