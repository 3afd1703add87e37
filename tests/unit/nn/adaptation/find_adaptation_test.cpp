#include "paceline/nn/adaptation/find_adaptation.h"

#include "support/stem_net.h"

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

using Sizes = std::vector<std::int64_t>;

struct OwnWay final : test::StemNet {
  using StemNet::StemNet;
  std::optional<tensor::Adaptation> adapt_stored(
      const std::string& name, std::span<const std::int64_t> /*stored*/) const override {
    if (name == "stem.weight") return {};
    return tensor::Adaptation{{}, "its own way"};
  }
};

TEST(FindAdaptation, AsksTheNetworkFirstAndThenAdaptsInputChannels) {
  const OwnWay grey(4, 1, 3);
  const tensor::FindAdaptation find = find_adaptation(grey);
  EXPECT_EQ(find("body.weight", Sizes{4, 3, 3, 3})->note, "its own way");
  EXPECT_EQ(find("stem.weight", Sizes{4, 3, 3, 3})->note, "summed over its 3 input channels");
  EXPECT_FALSE(find("stem.weight", Sizes{8, 3, 3, 3}));
}

}  // namespace
}  // namespace paceline::nn
