// Against torch.optim and timm; see make_golden.py.

#include "golden/optim/fifty_steps.h"

namespace paceline::optim {
namespace {

TEST(OptimizerGolden, FiftyStepsAsTheReference) {
  fifty_steps::expect_as_references("optimizers.json", 86);
}

}  // namespace
}  // namespace paceline::optim
