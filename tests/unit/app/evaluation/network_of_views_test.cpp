#include "paceline/app/evaluation/network_of_views.h"

#include "paceline/app/evaluation/eval_transforms.h"
#include "paceline/base/error.h"
#include "paceline/nn/image_network.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using ClassGroups = std::vector<std::vector<std::int64_t>>;

/// Its three logits are the first column's mean, the last column's, and 1.
class Columns final : public nn::ImageNetwork {
 public:
  at::Tensor forward_images(const at::Tensor& images, const nn::ForwardContext&) override {
    ++num_passes;
    const auto mean_of = [&](std::int64_t column) { return images.select(3, column).mean({1, 2}); };
    return at::stack({mean_of(0), mean_of(-1), at::ones({images.size(0)})}, 1);
  }
  double flops_per_image(std::int64_t, std::int64_t) const override { return 0; }
  void initialize_parameter(const nn::NamedTensor&, const tensor::DrawKey&) const override {}
  int num_passes = 0;
};

/// Two images, the first column of which is `left` and the last `right`; twice that of the second.
at::Tensor images(double left, double right) {
  const at::Tensor row = at::tensor({left, 0.0, right}, at::kFloat);
  return at::stack({row, 2 * row}).view({2, 1, 1, 3}).expand({2, 3, 2, 3}).contiguous();
}

TEST(NetworkOfViews, LogitsAreTheMeanOverTheViewsInOnePass) {
  const auto columns = std::make_shared<Columns>();
  const auto flipped = NetworkOfViews(columns, {.flip = true})
                           .forward({{std::string(data::kImagesField), images(1, 3)}}, {});
  EXPECT_TRUE(flipped.allclose(at::tensor({2.0F, 2.0F, 1.0F, 4.0F, 4.0F, 1.0F}).view({2, 3})));
  EXPECT_EQ(columns->num_passes, 1) << "ranks without samples take part in one";

  tensor::Fields crops{{std::string(data::kImagesField), images(1, 2)}};
  double value = 3;
  for (const std::string_view corner : kCornerFields) {
    crops.set(corner, images(value, 10 * value));
    ++value;
  }
  const auto mean = NetworkOfViews(columns, {}).forward(crops, {});
  EXPECT_TRUE(mean.select(0, 0).allclose(at::tensor({19.0F / 5, 182.0F / 5, 1.0F})));
}

TEST(NetworkOfViews, ShiftsMoveBothWaysWithMirroredEdges) {
  const at::Tensor image = at::arange(12, at::kFloat).view({1, 1, 3, 4});
  const auto shifted = with_shifts(image, 1);
  ASSERT_EQ(shifted.size(), 3u);
  EXPECT_TRUE(shifted[0].equal(image));
  // torch.nn.functional.pad(image, (1,) * 4, "reflect"), cut at 0 and at 2.
  EXPECT_TRUE(
      shifted[1].flatten().equal(at::tensor({5, 4, 5, 6, 1, 0, 1, 2, 5, 4, 5, 6}, at::kFloat)));
  EXPECT_TRUE(
      shifted[2].flatten().equal(at::tensor({5, 6, 7, 6, 9, 10, 11, 10, 5, 6, 7, 6}, at::kFloat)));
  EXPECT_THAT([&] { with_shifts(image, 3); },
              ThrowsMessage<base::ConfigError>(HasSubstr("--shift 3: images have 4 x 3 pixels")));
}

TEST(NetworkOfViews, ShiftedViewsHaveAQuarterEach) {
  const auto columns = std::make_shared<Columns>();
  const tensor::Fields fields{{std::string(data::kImagesField), images(1, 3)}};
  // Columns 1, 0, 3 move to 0, 1, 0 and to 0, 3, 0.
  const auto logits = NetworkOfViews(columns, {.shift = 1}).forward(fields, {});
  EXPECT_TRUE(logits.select(0, 0).allclose(at::tensor({0.5F, 1.5F, 1.0F})));
  const auto both = NetworkOfViews(columns, {.flip = true, .shift = 1}).forward(fields, {});
  EXPECT_TRUE(both.allclose(at::tensor({1.0F, 1.0F, 1.0F, 2.0F, 2.0F, 1.0F}).view({2, 3})));
  EXPECT_EQ(columns->num_passes, 2);
}

TEST(NetworkOfViews, OtherClassesAreLeftOutAndTheTemperatureDivides) {
  const auto columns = std::make_shared<Columns>();
  const auto logits = NetworkOfViews(columns, {.temperature = 2, .classes = ClassGroups{{2}, {0}}})
                          .forward({{std::string(data::kImagesField), images(1, 3)}}, {});
  EXPECT_TRUE(logits.allclose(at::tensor({0.5F, 0.5F, 0.5F, 1.0F}).view({2, 2})));
}

TEST(NetworkOfViews, SeveralClassesHaveTheMeanOfTheirProbabilities) {
  const auto columns = std::make_shared<Columns>();
  const tensor::Fields fields{{std::string(data::kImagesField), images(1, 3)}};
  const at::Tensor all = NetworkOfViews(columns, {.temperature = 2}).forward(fields, {}).softmax(1);
  const auto logits =
      NetworkOfViews(columns, {.temperature = 2, .classes = ClassGroups{{1}, {2, 0}}})
          .forward(fields, {});
  const at::Tensor mean =
      at::stack({all.select(1, 1), (all.select(1, 2) + all.select(1, 0)) / 2}, 1);
  EXPECT_TRUE(logits.softmax(1).allclose(mean / mean.sum(1, true)));
  EXPECT_TRUE(logits.select(1, 0).equal(at::tensor({1.5F, 3.0F}))) << "one keeps its logit";
}

TEST(NetworkOfViews, LargeLogitsOfSeveralClassesStayFinite) {
  const auto columns = std::make_shared<Columns>();
  const auto logits = NetworkOfViews(columns, {.classes = ClassGroups{{0, 1}, {2}}})
                          .forward({{std::string(data::kImagesField), images(1e4, -1e4)}}, {});
  EXPECT_TRUE(logits.isfinite().all().item<bool>());
  EXPECT_NEAR(logits[0][0].item<double>(), 1e4 - std::log(2.0), 1e-2);
}

TEST(NetworkOfViews, PutsTheNetworkIntoItsMode) {
  const auto columns = std::make_shared<Columns>();
  NetworkOfViews views(columns, {});
  views.eval();
  EXPECT_FALSE(columns->is_training());
  views.train();
  EXPECT_TRUE(columns->is_training());
}

}  // namespace
}  // namespace paceline::app
