#include "paceline/app/evaluation/top_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

TEST(TopClasses, AreTheMostProbableOfEachRow) {
  const at::Tensor probabilities = at::tensor({0.2, 0.5, 0.3, 0.4, 0.2, 0.4}).view({2, 3});
  const std::vector<std::string> names{"cat", "dog"};
  const auto rows = top_classes(probabilities, 2, names);
  ASSERT_EQ(rows.size(), 2u);
  ASSERT_EQ(rows[0].size(), 2u);
  EXPECT_EQ(rows[0][0].name, "dog");
  EXPECT_EQ(rows[0][0].label, 1);
  EXPECT_DOUBLE_EQ(rows[0][0].probability, 0.5);
  EXPECT_EQ(rows[0][1].name, "2") << "a class without a name has its number";
  EXPECT_EQ(rows[1][0].label, 0) << "the first of equal ones";
  EXPECT_EQ(rows[1][1].label, 2);
  EXPECT_EQ(top_classes(probabilities, 9, names)[0].size(), 3u);
}

}  // namespace
}  // namespace paceline::app
