#include "paceline/config/struct_info.h"

#include "unit/config/test_recipe.h"

#include <gtest/gtest.h>

namespace paceline::config::test {
namespace {

TEST(StructInfo, DescribesAStructWithoutItsType) {
  const StructInfo& info = describe<SgdOptions>();
  EXPECT_EQ(&info, &describe<SgdOptions>());
  EXPECT_EQ(info.name, "sgd");
  EXPECT_EQ(info.paper, "Robbins and Monro, 1951");
  EXPECT_EQ(describe<AdamWOptions>().paper, "");
  ASSERT_EQ(info.fields.size(), 3u);
  EXPECT_EQ(info.fields[1].name, "momentum");
  EXPECT_EQ(info.fields[1].default_value.text, "0.9");
  EXPECT_EQ(info.fields[1].rules[0].text(), "between 0 and 1");
  EXPECT_NE(info.validate, nullptr);
  EXPECT_EQ(describe<AdamWOptions>().validate, nullptr);
}

TEST(StructInfo, FindsFieldsByNameButNotInlineOnes) {
  const StructInfo& info = describe<DataSection>();
  EXPECT_EQ(info.find("global_batch_size"), &info.fields[1]);
  EXPECT_EQ(info.find("dataset"), nullptr);
  EXPECT_EQ(info.inline_field(), &info.fields[0]);
  EXPECT_EQ(describe<RunSection>().inline_field(), nullptr);
}

TEST(StructInfo, KnowsRulesAndReachesMembers) {
  const StructInfo& info = describe<RunSection>();
  EXPECT_TRUE(info.find("name")->may_change_on_resume());
  EXPECT_FALSE(info.find("seed")->may_change_on_resume());
  EXPECT_TRUE(describe<FolderOptions>().find("path")->is_required());
  const std::shared_ptr<void> object = info.make();
  *static_cast<std::uint64_t*>(info.find("seed")->member(object.get())) = 42;
  EXPECT_EQ(static_cast<RunSection*>(object.get())->seed, 42u);
}

}  // namespace
}  // namespace paceline::config::test
