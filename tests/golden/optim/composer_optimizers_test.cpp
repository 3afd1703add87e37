// Against Composer's; see make_composer_optimizers.py.

#include "golden/optim/fifty_steps.h"

namespace paceline::optim {
namespace {

TEST(OptimizerGolden, FiftyStepsAsComposer) {
  fifty_steps::expect_as_references("composer_optimizers.json", 12);
}

}  // namespace
}  // namespace paceline::optim
