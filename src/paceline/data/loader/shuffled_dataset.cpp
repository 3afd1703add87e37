#include "paceline/data/loader/shuffled_dataset.h"

#include "paceline/base/hash.h"
#include "paceline/data/dataset/dataset_view.h"
#include "paceline/data/loader/sample_order.h"

#include <utility>

#include <fmt/format.h>

namespace paceline::data {
namespace {

class ShuffledDataset final : public DatasetView {
 public:
  ShuffledDataset(std::unique_ptr<Dataset> whole, std::uint64_t seed)
      : DatasetView(std::move(whole)), seed_(seed), order_(seed, 0, size()) {}

  std::string fingerprint() const override {
    return base::xxh3_128_hex(fmt::format("shuffled by {}: {}", seed_, whole().fingerprint()));
  }

 private:
  std::int64_t at(std::int64_t index) const override { return order_.at(index); }

  std::uint64_t seed_;
  SampleOrder order_;
};

}  // namespace

std::unique_ptr<Dataset> shuffled(std::unique_ptr<Dataset> dataset, std::uint64_t seed) {
  if (dataset->size() == 0) return dataset;  // in any order
  return std::make_unique<ShuffledDataset>(std::move(dataset), seed);
}

}  // namespace paceline::data
