#include "paceline/data/loader/array_maker.h"

#include "paceline/base/error.h"

#include <cstring>
#include <utility>

namespace paceline::data {
namespace {

bool is_label(const FieldSpec& field) {
  return field.name == kLabelsField && field.sizes.empty() && is_integer(field.type);
}

}  // namespace

ArrayMaker::ArrayMaker(std::vector<FieldSpec> stored,
                       const std::vector<TransformConfig>& transforms)
    : stored_(std::move(stored)), fields_(stored_), transforms_(transforms, stored_) {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (is_label(fields_[i])) fields_[i].type = FieldType::kInt64;
    fields_[i].sizes = transforms_.sizes_of(i);
  }
}

EraseSteps ArrayMaker::make(const StoredSample& sample, const DrawKey& key, TransformScratch&,
                            std::span<std::byte* const> targets) const {
  std::span<const std::byte> rest = std::as_bytes(std::span(sample.bytes));
  if (rest.size() != sample_bytes(stored_))
    throw base::DataError(fmt::format("holds {} bytes, expected {} for its fields", rest.size(),
                                      sample_bytes(stored_)));
  const std::vector<ArrayWindow> windows = transforms_.draw(key);
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    const std::size_t size = sample_bytes(stored_[i]);
    if (is_label(stored_[i])) {
      std::memcpy(targets[i], &sample.label, sizeof(sample.label));
    } else {
      copy_window(rest.first(size), stored_[i], windows[i], targets[i]);
    }
    rest = rest.subspan(size);
  }
  return {};
}

}  // namespace paceline::data
