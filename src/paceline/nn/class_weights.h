#pragma once

#include "paceline/config/schema.h"
#include "paceline/tensor/aten.h"

#include <cstdint>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace paceline::nn {

/// Factors on the losses of classes, one for each, or none at all. Safe to share between threads.
class ClassWeights {
 public:
  explicit ClassWeights(std::vector<double> weights) : weights_(std::move(weights)) {}

  /// [classes] on the device of the outputs and in the type that losses of them are computed in;
  /// nothing if all weigh the same.
  std::optional<at::Tensor> beside(const at::Tensor& outputs) const;

  /// Throws ConfigError unless there is one for each class.
  void check_num_classes(std::int64_t num_classes) const;

 private:
  std::vector<double> weights_;
  mutable std::mutex mutex_;
  mutable at::Tensor placed_;  ///< as they were asked for last: a copy to a device is a wait
};

/// The fields of every loss that has them.
template <class Config>
constexpr auto class_weights_fields() {
  using namespace config;
  return std::tuple{
      field(&Config::class_weights, "class_weights",
            "Factors on the losses of the classes, in their order; empty: 1 for all. A step's "
            "loss stays the sum over its samples divided by their number.",
            AtLeast{0}, AtMost{1e9, "no weights survive a step"}),
      field(&Config::balance_classes, "balance_classes",
            "Have class_weights, if it is empty, follow the training samples: rare classes count "
            "as much as others, the mean over the samples being 1 (as scikit-learn's balanced).")};
}

}  // namespace paceline::nn
