#include "paceline/nn/class_weights.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::nn {
namespace {

TEST(ClassWeights, LieBesideTheOutputsInTheTypeOfTheirLoss) {
  const ClassWeights weights({1.0, 0.5});
  for (const auto& [outputs, loss] :
       {std::pair(at::kBFloat16, at::kFloat), std::pair(at::kDouble, at::kDouble)}) {
    const auto placed = weights.beside(at::zeros({1, 2}, outputs));
    EXPECT_TRUE(placed->equal(at::tensor({1.0, 0.5}).to(loss)));
    EXPECT_TRUE(weights.beside(at::zeros({1, 2}, outputs))->is_same(*placed)) << "copied once";
  }
  EXPECT_FALSE(ClassWeights({}).beside(at::zeros({1, 2})).has_value());
}

TEST(ClassWeights, RefuseAnotherNumberOfClasses) {
  const ClassWeights weights({1.0, 0.5});
  weights.check_num_classes(2);
  ClassWeights({}).check_num_classes(7);
  EXPECT_THAT([&] { weights.check_num_classes(3); },
              ::testing::ThrowsMessage<base::ConfigError>(::testing::HasSubstr(
                  "loss.class_weights has 2 numbers, and the network tells 3 classes")));
}

}  // namespace
}  // namespace paceline::nn
