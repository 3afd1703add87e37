#include "paceline/data/sources/new_part.h"

#include <string>
#include <vector>

#include <fmt/format.h>

namespace paceline::data {
namespace {

class NewPart final : public Dataset {
 public:
  NewPart(std::int64_t size, Split split) : size_(size), split_(split) {}

  std::int64_t size() const override { return size_; }
  int num_classes() const override { return 2; }
  std::vector<std::string> class_names() const override { return {"dark", "bright"}; }
  std::int64_t label(std::int64_t index) const override { return index % 2; }

  void get(std::int64_t index, StoredSample& sample) const override {
    sample.label = label(index);
    sample.width = sample.height = 32;
    const auto level = static_cast<std::uint8_t>(index % 100 + (label(index) == 1 ? 128 : 0));
    sample.bytes.assign(std::size_t{3} * 32 * 32, level);
  }

  std::string describe(std::int64_t index) const override {
    return fmt::format("sample {} of new_part", index);
  }
  std::string fingerprint() const override {
    return fmt::format("new_part of {}, {}", size_, split_ == Split::kTrain ? "train" : "val");
  }

 private:
  std::int64_t size_;
  Split split_;
};

}  // namespace

std::unique_ptr<Dataset> open(const NewPartConfig& config, Split split,
                              const std::shared_ptr<const Storage>& /*storage*/) {
  return std::make_unique<NewPart>(config.num_samples, split);
}

std::unique_ptr<DatasetPlan> make(const NewPartConfig& config) {
  return plan_of(config, small_image_transforms(32));
}

}  // namespace paceline::data
