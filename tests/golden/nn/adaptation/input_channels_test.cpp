#include "paceline/nn/adaptation/input_channels.h"

#include "paceline/base/file.h"
#include "support/stem_net.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::nn {
namespace {

TEST(InputChannelsGolden, AreAdaptedAsTimmDoes) {
  const auto golden = nlohmann::json::parse(
      base::read_file(std::string(PACELINE_GOLDEN_DIR) + "/adaptation/input_channels.json"));
  ASSERT_EQ(golden.size(), 12u);
  for (const auto& wanted : golden) {
    const auto channels = wanted["channels"].get<std::int64_t>();
    const auto dtype = wanted["half"].get<bool>() ? at::kHalf : at::kFloat;
    const std::vector<std::int64_t> shape{2, wanted["stored_channels"].get<std::int64_t>(), 2, 2};
    const auto tensor_of = [&](const char* key) {
      return at::tensor(wanted[key].get<std::vector<double>>(), at::kDouble).to(dtype);
    };
    const auto adaptation =
        adapt_input_channels(test::StemNet(2, channels, 2), "stem.weight", shape);
    ASSERT_TRUE(adaptation) << channels;
    const at::Tensor adapted = adaptation->apply(tensor_of("stored").reshape(shape));
    EXPECT_EQ(adapted.sizes(), at::IntArrayRef({2, channels, 2, 2}));
    EXPECT_EQ(adapted.scalar_type(), dtype);
    EXPECT_TRUE(at::allclose(adapted.flatten(), tensor_of("adapted"), 1e-6, 1e-7)) << channels;
  }
}

}  // namespace
}  // namespace paceline::nn
