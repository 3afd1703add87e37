#include "paceline/app/assembly/class_balance.h"

#include "paceline/config/node.h"
#include "paceline/config/write.h"

#include <algorithm>
#include <cstdint>

namespace paceline::app {

bool wants_class_balance(const config::Component& loss) {
  const config::Node options = config::options_of(loss);
  const config::Node* const balance = options.find("balance_classes");
  const config::Node* const weights = options.find("class_weights");
  return balance != nullptr && balance->text == "true" && weights != nullptr &&
         weights->items.empty();
}

std::vector<double> balanced_class_weights(const data::Dataset& dataset) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(dataset.num_classes()));
  std::int64_t num_samples = 0;
  for (std::int64_t i = 0; i < dataset.size(); ++i) {
    const std::int64_t label = dataset.label(i);
    if (label < 0 || label >= std::ssize(counts)) continue;  // told when it is learnt from
    ++counts[static_cast<std::size_t>(label)];
    ++num_samples;
  }
  const auto num_present = counts.size() - std::ranges::count(counts, 0);
  std::vector<double> weights;
  for (const std::int64_t count : counts) {
    const auto even = static_cast<double>(num_samples) / static_cast<double>(num_present);
    weights.push_back(count == 0 ? 1.0 : even / static_cast<double>(count));
  }
  return weights;
}

}  // namespace paceline::app
