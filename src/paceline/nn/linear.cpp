#include "paceline/nn/linear.h"

namespace paceline::nn {

Linear::Linear(std::int64_t in_features, std::int64_t out_features, bool has_bias) {
  weight = register_parameter("weight", at::empty({out_features, in_features}));
  if (has_bias) bias = register_parameter("bias", at::empty({out_features}));
}

}  // namespace paceline::nn
