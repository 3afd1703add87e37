#include "paceline/parallel/gradient_hooks.h"

#include "paceline/base/error.h"
#include "paceline/tensor/torch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

struct Counted {
  at::Tensor used = at::ones({3}).requires_grad_();
  at::Tensor unused = at::ones({3}).requires_grad_();
  std::vector<NamedTensor> parameters{{"used", used}, {"unused", unused}};
  std::vector<std::size_t> calls;
  GradientHandler handler = [this](std::size_t parameter, at::Tensor& grad) {
    calls.push_back(parameter);
    grad.reset();
  };
};

TEST(GradientHooks, ATiedParameterCallsOnceAndAnUnusedOneNever) {
  Counted counted;
  const GradientHooks hooks(counted.parameters, counted.handler);
  (counted.used * counted.used + counted.used).sum().backward();
  EXPECT_THAT(counted.calls, testing::ElementsAre(0));
  EXPECT_FALSE(counted.used.grad().defined());
}

TEST(GradientHooks, SurviveSetDataAndDroppedGradients) {
  Counted counted;
  const GradientHooks hooks(counted.parameters, counted.handler);
  counted.used.set_data(at::zeros({3}));
  counted.used.mutable_grad().reset();
  counted.used.sum().backward();
  EXPECT_EQ(counted.calls.size(), 1U);
}

TEST(GradientHooks, EndWithTheirLife) {
  Counted counted;
  { const GradientHooks hooks(counted.parameters, counted.handler); }
  counted.used.sum().backward();
  EXPECT_TRUE(counted.calls.empty());
  EXPECT_TRUE(counted.used.grad().defined());
}

TEST(GradientHooks, RefuseASecondOwnerAndSecondDerivatives) {
  Counted counted;
  const GradientHooks hooks(counted.parameters, counted.handler);
  EXPECT_THAT([&] { GradientHooks(counted.parameters, counted.handler); },
              testing::ThrowsMessage<base::InternalError>(testing::HasSubstr("'used'")));
  EXPECT_THROW(counted.used.square().sum().backward({}, true, /*create_graph=*/true),
               base::InternalError);
  counted.used.mutable_grad().reset();  // its graph holds the parameter, which holds it
}

}  // namespace
}  // namespace paceline::parallel
