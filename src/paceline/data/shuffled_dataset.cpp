#include "paceline/data/shuffled_dataset.h"

#include "paceline/base/hash.h"
#include "paceline/data/sample_order.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::data {
namespace {

class ShuffledDataset final : public Dataset {
 public:
  ShuffledDataset(std::unique_ptr<Dataset> dataset, std::uint64_t seed)
      : dataset_(std::move(dataset)), seed_(seed), order_(seed, 0, dataset_->size()) {}

  std::int64_t size() const override { return dataset_->size(); }
  int num_classes() const override { return dataset_->num_classes(); }
  std::vector<std::string> class_names() const override { return dataset_->class_names(); }
  std::int64_t label(std::int64_t index) const override {
    return dataset_->label(order_.at(index));
  }
  void get(std::int64_t index, StoredSample& sample) const override {
    dataset_->get(order_.at(index), sample);
  }
  bool reads_ahead() const override { return dataset_->reads_ahead(); }
  void will_read(std::span<const std::int64_t> indices) const override {
    std::vector<std::int64_t> unshuffled;
    for (const std::int64_t index : indices) unshuffled.push_back(order_.at(index));
    dataset_->will_read(unshuffled);
  }
  void will_read_no_more() const override { dataset_->will_read_no_more(); }
  std::string name(std::int64_t index) const override { return dataset_->name(order_.at(index)); }
  std::string describe(std::int64_t index) const override {
    return dataset_->describe(order_.at(index));
  }
  LeftOut left_out() const override { return dataset_->left_out(); }
  std::string fingerprint() const override {
    return base::xxh3_128_hex(fmt::format("shuffled by {}: {}", seed_, dataset_->fingerprint()));
  }

 private:
  std::unique_ptr<Dataset> dataset_;
  std::uint64_t seed_;
  SampleOrder order_;
};

}  // namespace

std::unique_ptr<Dataset> shuffled(std::unique_ptr<Dataset> dataset, std::uint64_t seed) {
  if (dataset->size() == 0) return dataset;  // in any order
  return std::make_unique<ShuffledDataset>(std::move(dataset), seed);
}

}  // namespace paceline::data
