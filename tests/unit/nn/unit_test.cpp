#include "paceline/nn/unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

class Twice final : public Unit {
 public:
  at::Tensor forward(const at::Tensor& x) const {
    return run(x, [](const at::Tensor& input) { return input * 2; });
  }
};

/// Writes its name before and after, and adds to what goes in.
class Recording final : public UnitWrapper {
 public:
  Recording(std::string name, std::vector<std::string>& calls)
      : name_(std::move(name)), calls_(calls) {}
  at::Tensor run(const Inputs& inputs, const Forward& forward) override {
    calls_.push_back(name_ + " begins");
    Inputs more;
    for (const at::Tensor& input : inputs) more.push_back(input + 1);
    at::Tensor output = forward(more);
    calls_.push_back(name_ + " ends");
    return output;
  }

 private:
  std::string name_;
  std::vector<std::string>& calls_;
};

TEST(Unit, WithoutWrapperComputesItself) {
  EXPECT_EQ(Twice().forward(at::ones({})).item<float>(), 2);
}

TEST(Unit, LaterWrappersEncloseEarlierOnes) {
  std::vector<std::string> calls;
  Twice unit;
  unit.wrap(std::make_shared<Recording>("inner", calls));
  unit.wrap(std::make_shared<Recording>("outer", calls));
  EXPECT_EQ(unit.forward(at::ones({})).item<float>(), 6);
  EXPECT_THAT(calls,
              testing::ElementsAre("outer begins", "inner begins", "inner ends", "outer ends"));
}

TEST(Unit, SeveralInputsPassTheWrappersTogether) {
  class Sum final : public Unit {
   public:
    at::Tensor forward(const at::Tensor& a, const at::Tensor& b) const {
      return run_with({a, b}, [](const auto& inputs) { return inputs[0] + 10 * inputs[1]; });
    }
  };
  std::vector<std::string> calls;
  Sum unit;
  EXPECT_EQ(unit.forward(at::ones({}), at::ones({})).item<float>(), 11);
  unit.wrap(std::make_shared<Recording>("one", calls));
  EXPECT_EQ(unit.forward(at::ones({}), at::ones({})).item<float>(), 22);
  EXPECT_THAT(calls, testing::ElementsAre("one begins", "one ends"));
}

TEST(Unit, AreListedInRegistrationOrder) {
  torch::nn::Module root;
  const auto blocks = root.register_module("blocks", std::make_shared<torch::nn::Module>());
  blocks->register_module("0", std::make_shared<Twice>());
  root.register_module("norm", std::make_shared<torch::nn::Module>());
  blocks->register_module("1", std::make_shared<Twice>());
  std::vector<std::string> names;
  for (const NamedUnit& found : units(root)) names.push_back(found.name);
  EXPECT_THAT(names, testing::ElementsAre("blocks.0", "blocks.1"));
}

}  // namespace
}  // namespace paceline::nn
