#include "paceline/nn/blocks/folded_conv.h"

#include "paceline/nn/init.h"
#include "paceline/nn/module_tree.h"

#include <ostream>

#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

struct Case {
  std::int64_t in_channels;
  std::int64_t out_channels;
  std::int64_t kernel_size;
  Conv2d::Options options;
};

const Case kCases[] = {{3, 8, 7, {.stride = 2, .padding = 3}},
                       {8, 16, 1, {}},
                       {8, 8, 3, {.padding = 1, .groups = 8}},
                       {8, 16, 3, {.stride = 2, .padding = 1, .groups = 4}},
                       {5, 7, 3, {.padding = 1, .bias = true}}};

class FoldedConvTest : public ::testing::TestWithParam<Case> {
 protected:
  FoldedConvTest() {
    default_weight(conv_.weight, {.seed = 1});
    if (conv_.bias.defined()) conv_.bias.copy_(waves(conv_.bias.numel()));
    norm_.weight.copy_(1.5 + waves(norm_.weight.numel()));
    norm_.bias.copy_(waves(norm_.bias.numel()).cos());
    norm_.running_mean.copy_(0.3 * waves(norm_.bias.numel()));
    norm_.running_var.copy_(0.2 + waves(norm_.bias.numel()).square());
    norm_.eval();
    input_ = waves(2 * GetParam().in_channels * 9 * 11)
                 .view({2, GetParam().in_channels, 9, 11})
                 .contiguous(at::MemoryFormat::ChannelsLast);
    expected_ = norm_.forward(conv_.forward(input_));
  }

  static at::Tensor waves(std::int64_t count) {
    return (at::arange(count, at::kFloat) * 0.7).sin();
  }
  /// The largest difference, as a share of the largest value.
  static double error(const at::Tensor& got, const at::Tensor& expected) {
    EXPECT_EQ(got.sizes(), expected.sizes());
    return ((got - expected).abs().max() / expected.abs().max()).item<double>();
  }

  at::NoGradGuard no_grad_;
  Conv2d conv_{GetParam().in_channels, GetParam().out_channels, GetParam().kernel_size,
               GetParam().options};
  BatchNorm2d norm_{GetParam().out_channels};
  at::Tensor input_;
  at::Tensor expected_;
};

TEST_P(FoldedConvTest, HasTheNumbersOfBothLayers) {
  const FoldedConv folded(conv_, norm_, at::kFloat);
  const at::Tensor added = expected_.cos();
  EXPECT_LT(error(folded.forward(input_), expected_), 2e-6);
  EXPECT_LT(error(folded.forward_relu(input_), expected_.relu()), 2e-6);
  EXPECT_LT(error(folded.forward_add_relu(input_, added), (expected_ + added).relu()), 2e-6);
  EXPECT_TRUE(folded.forward(input_).is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST_P(FoldedConvTest, TakesOperandsOfAnyLayout) {
  const auto formats = {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast};
  for (const auto of_weight : formats) {
    conv_.weight.set_data(conv_.weight.contiguous(of_weight));
    const FoldedConv folded(conv_, norm_, at::kFloat);
    for (const auto of_input : formats) {
      for (const auto of_added : formats) {
        const at::Tensor got =
            folded.forward_add_relu(input_.contiguous(of_input), expected_.contiguous(of_added));
        EXPECT_LT(error(got, (2 * expected_).relu()), 2e-6);
        const at::Tensor apart = at::stack({expected_, expected_}, 4).select(4, 1);
        EXPECT_LT(error(folded.forward_add_relu(input_.contiguous(of_input), apart),
                        (2 * expected_).relu()),
                  2e-6);
      }
    }
  }
}

TEST_P(FoldedConvTest, TakesSinglePixelsWithAnyStrides) {
  const std::int64_t channels = GetParam().in_channels;
  const at::Tensor pixels = waves(2 * channels).view({2, channels, 1, 1});
  const at::Tensor expected = norm_.forward(conv_.forward(pixels));
  const FoldedConv folded(conv_, norm_, at::kFloat);
  for (const std::int64_t stride : {std::int64_t{1}, channels, std::int64_t{7}}) {
    const at::Tensor input = pixels.as_strided(pixels.sizes(), {channels, 1, stride, stride});
    const at::Tensor added =
        expected.as_strided(expected.sizes(), {expected.size(1), 1, stride, stride});
    EXPECT_LT(error(folded.forward(input), expected), 2e-6);
    EXPECT_LT(error(folded.forward_add_relu(input, added), (2 * expected).relu()), 2e-6);
  }
}

TEST_P(FoldedConvTest, ComputesInBfloat16) {
  const FoldedConv folded(conv_, norm_, at::kBFloat16);
  const at::Tensor got = folded.forward(input_);
  EXPECT_EQ(got.scalar_type(), at::kBFloat16);
  EXPECT_LT(error(got.to(at::kFloat), expected_), 2e-2);
  EXPECT_LT(
      error(folded.forward_add_relu(input_, expected_).to(at::kFloat), (2 * expected_).relu()),
      2e-2);
}

TEST_P(FoldedConvTest, LeavesTheLayersAlone) {
  const at::Tensor weight = conv_.weight.clone();
  const FoldedConv folded(conv_, norm_, at::kFloat);
  folded.forward_relu(input_);
  EXPECT_TRUE(conv_.weight.equal(weight));
  EXPECT_TRUE(norm_.forward(conv_.forward(input_)).equal(expected_));
}

std::ostream& operator<<(std::ostream& out, const Case& which) {
  return out << which.in_channels << " to " << which.out_channels << " channels, kernel "
             << which.kernel_size << ", " << which.options.groups << " groups";
}

INSTANTIATE_TEST_SUITE_P(AllForms, FoldedConvTest, ::testing::ValuesIn(kCases));

}  // namespace
}  // namespace paceline::nn
