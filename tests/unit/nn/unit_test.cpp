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
  at::Tensor run(const at::Tensor& input, const Forward& forward) override {
    calls_.push_back(name_ + " begins");
    at::Tensor output = forward(input + 1);
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
