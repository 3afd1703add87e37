#include "paceline/nn/adaptation/input_channels.h"

#include "support/stem_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

using test::StemNet;
using Sizes = std::vector<std::int64_t>;

TEST(InputChannels, OnlyTheStemsWeightIsAdaptedAndOnlyInItsChannels) {
  const StemNet grey(4, 1, 3);
  EXPECT_TRUE(adapt_input_channels(grey, "stem.weight", Sizes{4, 3, 3, 3}));
  EXPECT_FALSE(adapt_input_channels(grey, "body.weight", Sizes{4, 3, 3, 3}));
  EXPECT_FALSE(adapt_input_channels(grey, "stem.bias", Sizes{3}));
  EXPECT_FALSE(adapt_input_channels(grey, "stem.absent", Sizes{4, 3, 3, 3}));
  EXPECT_FALSE(adapt_input_channels(grey, "stem.weight", Sizes{8, 3, 3, 3}));
  EXPECT_FALSE(adapt_input_channels(grey, "stem.weight", Sizes{4, 3, 7, 7}));
  EXPECT_FALSE(adapt_input_channels(grey, "stem.weight", Sizes{4, 27}));
  EXPECT_FALSE(adapt_input_channels(StemNet(4, 3, 3), "stem.weight", Sizes{4, 4, 3, 3}))
      << "timm knows no way from four";
}

TEST(InputChannels, TheNoteTellsWhatIsDone) {
  const auto note = [](std::int64_t wanted, std::int64_t stored) {
    return adapt_input_channels(StemNet(4, wanted, 3), "stem.weight", Sizes{4, stored, 3, 3})->note;
  };
  EXPECT_EQ(note(1, 3), "summed over its 3 input channels");
  EXPECT_EQ(note(8, 3), "its 3 input channels repeated to 8, times 3/8");
  EXPECT_THAT(note(4, 12), ::testing::HasSubstr("over each 3 of its 12"));
}

}  // namespace
}  // namespace paceline::nn
