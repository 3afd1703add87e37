#include "paceline/nn/activation.h"

#include "paceline/tensor/aten.h"

#include <cmath>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

double activated(double x, Activation activation) {
  return activate(at::tensor(x, at::kDouble), activation).item<double>();
}

TEST(Activation, IsWhatItsNameSays) {
  for (const double x : {-4.0, -1.5, 0.0, 0.5, 3.5}) {
    const double sigmoid = 1 / (1 + std::exp(-x));
    const double hardsigmoid = std::min(std::max(x / 6 + 0.5, 0.0), 1.0);
    EXPECT_EQ(activated(x, Activation::kNone), x);
    EXPECT_EQ(activated(x, Activation::kRelu), std::max(x, 0.0));
    EXPECT_DOUBLE_EQ(activated(x, Activation::kHardsigmoid), hardsigmoid);
    EXPECT_DOUBLE_EQ(activated(x, Activation::kHardswish), x * hardsigmoid);
    EXPECT_DOUBLE_EQ(activated(x, Activation::kSigmoid), sigmoid);
    EXPECT_DOUBLE_EQ(activated(x, Activation::kSilu), x * sigmoid);
  }
}

}  // namespace
}  // namespace paceline::nn
