#include "paceline/app/evaluation/top_classes.h"

#include <algorithm>

namespace paceline::app {

std::string name_of_class(std::span<const std::string> class_names, std::int64_t label) {
  if (label < 0 || label >= std::ssize(class_names)) return std::to_string(label);
  return class_names[static_cast<std::size_t>(label)];
}

std::vector<std::vector<ToldClass>> top_classes(const at::Tensor& probabilities, std::int64_t count,
                                                std::span<const std::string> class_names) {
  const std::int64_t most = std::min(count, probabilities.size(1));
  const at::Tensor values = probabilities.to(at::kDouble);
  const auto [best, labels] = values.sort(/*stable=*/true, /*dim=*/1, /*descending=*/true);
  const auto probability = best.accessor<double, 2>();
  const auto label = labels.accessor<std::int64_t, 2>();
  std::vector<std::vector<ToldClass>> rows;
  for (std::int64_t row = 0; row < values.size(0); ++row) {
    auto& told = rows.emplace_back();
    for (std::int64_t k = 0; k < most; ++k) {
      told.push_back(
          {label[row][k], name_of_class(class_names, label[row][k]), probability[row][k]});
    }
  }
  return rows;
}

}  // namespace paceline::app
