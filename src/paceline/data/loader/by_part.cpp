#include "paceline/data/loader/by_part.h"

#include "paceline/base/error.h"
#include "paceline/base/philox.h"
#include "paceline/data/loader/sample_order.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>

namespace paceline::data {
namespace {

/// The samples of each part.
std::vector<std::vector<std::int64_t>> members_of_parts(const Dataset& dataset) {
  std::vector<std::vector<std::int64_t>> members;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const auto part = static_cast<std::size_t>(dataset.part(i));
    if (members.size() <= part) members.resize(part + 1);
    members[part].push_back(i);
  }
  return members;
}

/// Whole numbers that add up to `total`, as near to the weights' shares of it as can be: rounded
/// down, and one more for those that lost most by that.
std::vector<std::int64_t> quotas_of(const std::vector<double>& weights, std::int64_t total) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::int64_t> quotas;
  std::vector<double> remainders;
  for (const double weight : weights) {
    const double share = static_cast<double>(total) * (weight / sum);
    quotas.push_back(static_cast<std::int64_t>(std::floor(share)));
    remainders.push_back(weight > 0 ? share - std::floor(share) : -1);
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return remainders[a] > remainders[b]; });
  std::int64_t rest = total - std::accumulate(quotas.begin(), quotas.end(), std::int64_t{0});
  for (std::size_t i = 0; rest > 0; i = (i + 1) % order.size(), --rest) ++quotas[order[i]];
  return quotas;
}

class ByPart final : public Sampler {
 public:
  ByPart(std::vector<std::vector<std::int64_t>> members, const std::vector<std::int64_t>& quotas,
         std::uint64_t seed)
      : members_(std::move(members)), seed_(seed) {
    for (const std::int64_t quota : quotas) ends_.push_back(places_per_epoch() + quota);
  }

  std::int64_t places_per_epoch() const override { return ends_.empty() ? 0 : ends_.back(); }

  std::int64_t at(std::uint64_t epoch, std::int64_t place) const override {
    return sample(epoch, SampleOrder(seed_, epoch, places_per_epoch()).at(place));
  }
  void fill(std::uint64_t epoch, std::int64_t first,
            std::span<std::int64_t> samples) const override {
    SampleOrder(seed_, epoch, places_per_epoch()).fill(first, samples);
    for (std::int64_t& number : samples) number = sample(epoch, number);
  }

 private:
  /// The sample that number `number` of an epoch stands for, where numbers go part by part.
  std::int64_t sample(std::uint64_t epoch, std::int64_t number) const {
    const auto part =
        static_cast<std::size_t>(std::ranges::upper_bound(ends_, number) - ends_.begin());
    const std::int64_t begin = part == 0 ? 0 : ends_[part - 1];
    const auto quota = static_cast<std::uint64_t>(ends_[part] - begin);
    const std::vector<std::int64_t>& members = members_[part];
    const auto size = static_cast<std::uint64_t>(members.size());
    const std::uint64_t seen = epoch * quota + static_cast<std::uint64_t>(number - begin);
    const SampleOrder order(seed_of_pass(seen / size, part), 0, std::ssize(members));
    return members[static_cast<std::size_t>(order.at(static_cast<std::int64_t>(seen % size)))];
  }

  std::uint64_t seed_of_pass(std::uint64_t pass, std::size_t part) const {
    return base::Philox(seed_, base::DrawPurpose::kNestedOrder, pass, part).next64();
  }

  std::vector<std::vector<std::int64_t>> members_;
  std::vector<std::int64_t> ends_;  ///< of the parts' numbers in an epoch
  std::uint64_t seed_;
};

void check_quotas(const std::vector<double>& weights, const std::vector<std::int64_t>& quotas,
                  const std::vector<std::vector<std::int64_t>>& members) {
  for (std::size_t part = 0; part < weights.size(); ++part) {
    if (weights[part] == 0) continue;
    if (members[part].empty()) {
      throw base::ConfigError(
          fmt::format("data.sampler.weights: part {} has weight {} and no samples; expected 0",
                      part + 1, weights[part]));
    }
    if (quotas[part] == 0) {
      throw base::ConfigError(fmt::format(
          "data.sampler.weights: part {} would get none of an epoch's samples; give it more than "
          "{}, or 0, or raise data.sampler.places_per_epoch",
          part + 1, weights[part]));
    }
  }
}

}  // namespace

std::unique_ptr<Sampler> make(const ByPartConfig& config, const Dataset& dataset,
                              std::uint64_t seed) {
  auto members = members_of_parts(dataset);
  std::vector<double> weights = config.weights;
  if (weights.empty()) weights.assign(members.size(), 1.0);
  if (weights.size() != members.size()) {
    throw base::ConfigError(fmt::format(
        "data.sampler.weights: {} weights, and the data set has {} {}; expected one for "
        "each part of data.name=mixture",
        weights.size(), members.size(), members.size() == 1 ? "part" : "parts"));
  }
  if (!weights.empty() && std::ranges::all_of(weights, [](double weight) { return weight == 0; }))
    throw base::ConfigError("data.sampler.weights: all are 0; expected one above it");
  const auto quotas = quotas_of(weights, config.places_per_epoch.value_or(dataset.size()));
  check_quotas(weights, quotas, members);
  return std::make_unique<ByPart>(std::move(members), quotas, seed);
}

}  // namespace paceline::data
