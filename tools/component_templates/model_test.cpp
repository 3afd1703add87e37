#include "paceline/models/new_part/new_part.h"

#include <gtest/gtest.h>

namespace paceline::models {
namespace {

TEST(NewPart, GivesLogits) {
  NewPart network({.num_classes = 7});
  network.initialize(1);
  EXPECT_EQ(network.forward_images(at::ones({2, 3, 8, 8}), {}).sizes(),
            (std::vector<std::int64_t>{2, 7}));
  EXPECT_EQ(network.flops_per_image(8, 8), 2.0 * 3 * 7);
}

}  // namespace
}  // namespace paceline::models
