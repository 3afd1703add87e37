#include "paceline/parallel/sharded/sharded_gate.h"

#include "support/block_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using test::LinearBlock;
using testing::ElementsAre;
using testing::IsEmpty;

class Listener final : public BlockObserver {
 public:
  void begin_forward(std::size_t block) override { add("forward", block); }
  void end_forward(std::size_t block) override { add("end of forward", block); }
  void begin_backward(std::size_t block) override { add("backward", block); }
  void end_backward(std::size_t block) override { add("end of backward", block); }
  std::vector<std::string> take() { return std::exchange(calls_, {}); }

 private:
  void add(const char* what, std::size_t block) {
    calls_.push_back(std::string(what) + " " + std::to_string(block));
  }
  std::vector<std::string> calls_;
};

class ShardGateTest : public testing::Test {
 protected:
  ShardGateTest() {
    first_.wrap(first_gate_);
    second_.wrap(second_gate_);
  }
  at::Tensor forward(bool input_requires_grad) {
    const at::Tensor x = test::wave({2, 3}, 1).requires_grad_(input_requires_grad);
    return second_.forward(first_.forward(x)).sum();
  }

  Listener listener_;
  LinearBlock first_{3, 0, at::kDouble};
  LinearBlock second_{3, 1, at::kDouble};
  std::shared_ptr<ShardGate> first_gate_ = std::make_shared<ShardGate>(listener_, 0, true, true);
  std::shared_ptr<ShardGate> second_gate_ = std::make_shared<ShardGate>(listener_, 1, true, true);
};

TEST_F(ShardGateTest, TellsOfEveryHopOfAPass) {
  const at::Tensor loss = forward(/*input_requires_grad=*/true);
  EXPECT_THAT(listener_.take(),
              ElementsAre("forward 0", "end of forward 0", "forward 1", "end of forward 1"));
  loss.backward();
  EXPECT_THAT(listener_.take(),
              ElementsAre("backward 1", "end of backward 1", "backward 0", "end of backward 0"));
}

TEST_F(ShardGateTest, AnInputWithoutGradientHasNoEndOfBackward) {
  forward(/*input_requires_grad=*/false).backward();
  EXPECT_THAT(listener_.take(), testing::Not(testing::Contains("end of backward 0")));
}

TEST_F(ShardGateTest, WithoutGradientsThereIsForwardOnly) {
  const at::NoGradGuard no_grad;
  forward(/*input_requires_grad=*/true);
  EXPECT_EQ(listener_.take().size(), 4U);
}

TEST_F(ShardGateTest, ARemovedGateIsSilentAlsoInBackward) {
  const at::Tensor loss = forward(/*input_requires_grad=*/true);
  listener_.take();
  first_gate_->remove();
  second_gate_->remove();
  loss.backward();
  forward(/*input_requires_grad=*/true);
  EXPECT_THAT(listener_.take(), IsEmpty());
}

/// A block that reads something besides, whose gradient takes as long as its first input's.
class ReadingBlock final : public nn::Unit {
 public:
  at::Tensor forward(const at::Tensor& x, const at::Tensor& read) const {
    return run_with({x, read},
                    [](const auto& inputs) { return inputs[0].sin() * inputs[1].exp(); });
  }
};

TEST(ShardGate, BackwardEndsWhenAllInputsHaveTheirGradients) {
  Listener listener;
  ReadingBlock block;
  block.wrap(std::make_shared<ShardGate>(listener, 3, true, true));
  std::vector<std::string> order;
  const at::Tensor x = test::wave({2}, 1).requires_grad_();
  const at::Tensor read = test::wave({2}, 2).requires_grad_();
  const auto listen = [&](const at::Tensor& leaf, const char* name) {
    leaf.register_hook([&order, &listener, name](const at::Tensor&) {
      for (const std::string& call : listener.take()) order.push_back(call);
      order.emplace_back(name);
    });
  };
  listen(x, "x");
  listen(read, "read");
  block.forward(x, read).sum().backward();
  EXPECT_THAT(order, ElementsAre("forward 3", "end of forward 3", "backward 3", "end of backward 3",
                                 testing::AnyOf("x", "read"), testing::AnyOf("x", "read")));
  EXPECT_TRUE(x.grad().allclose(x.cos() * read.exp()));
  EXPECT_TRUE(read.grad().allclose(x.sin() * read.exp()));
}

TEST(ShardGate, AnInputThatNeedsNoGradientIsNoneToWaitFor) {
  Listener listener;
  ReadingBlock block;
  block.wrap(std::make_shared<ShardGate>(listener, 3, true, true));
  const at::Tensor read = test::wave({2}, 2).requires_grad_();
  block.forward(test::wave({2}, 1), read).sum().backward();
  EXPECT_THAT(listener.take(), testing::Contains("end of backward 3"));
}

TEST(ShardGate, OfBlocksThatBelongTogetherTheFirstOpensAndTheLastCloses) {
  Listener listener;
  LinearBlock first(3, 0, at::kDouble);
  LinearBlock second(3, 1, at::kDouble);
  first.wrap(std::make_shared<ShardGate>(listener, 5, true, false));
  second.wrap(std::make_shared<ShardGate>(listener, 5, false, true));
  const at::Tensor x = test::wave({2, 3}, 1).requires_grad_();
  second.forward(first.forward(x)).sum().backward();
  EXPECT_THAT(listener.take(), ElementsAre("forward 5", "forward 5", "end of forward 5",
                                           "backward 5", "end of backward 5"));
}

}  // namespace
}  // namespace paceline::parallel
