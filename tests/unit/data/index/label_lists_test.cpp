#include "paceline/data/index/label_lists.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LabelLists, ComeBackWithTheName) {
  const std::string text = name_with_labels("a/b 1,2.jpg", std::array<std::int64_t, 3>{7, 0, 123});
  const NameAndLabels parts = name_and_labels(text);
  EXPECT_EQ(parts.name, "a/b 1,2.jpg");
  ASSERT_TRUE(parts.labels);
  EXPECT_THAT(*parts.labels, ElementsAre(7, 0, 123));
}

TEST(LabelLists, MayBeEmptyOrNotThere) {
  const NameAndLabels none = name_and_labels(name_with_labels("x", {}));
  EXPECT_EQ(none.name, "x");
  ASSERT_TRUE(none.labels);
  EXPECT_THAT(*none.labels, IsEmpty());
  EXPECT_EQ(name_and_labels("a,b").name, "a,b");
  EXPECT_FALSE(name_and_labels("a,b").labels);
}

}  // namespace
}  // namespace paceline::data
