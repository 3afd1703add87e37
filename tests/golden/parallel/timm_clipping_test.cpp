// Against timm's; see make_timm_clipping.py.

#include "golden/parallel/clipped_gradients.h"

namespace paceline::parallel {
namespace {

TEST(AdaptiveClippingGolden, WithAFloorIsTimms) {
  clipped::expect_as_theirs("timm_clipping.json", "grad_clip_adaptive, floor 1e-3");
}

}  // namespace
}  // namespace paceline::parallel
