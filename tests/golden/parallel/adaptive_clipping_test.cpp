// Against Composer's; see make_adaptive_clipping.py.

#include "golden/parallel/clipped_gradients.h"

namespace paceline::parallel {
namespace {

TEST(AdaptiveClippingGolden, IsComposers) {
  clipped::expect_as_theirs("adaptive_clipping.json", "grad_clip_adaptive, floor 0");
}

}  // namespace
}  // namespace paceline::parallel
