#include "paceline/app/recipe/guide_json/guide_section.h"

#include "paceline/config/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GuideSectionTest : public ::testing::Test {
 protected:
  GuideSection section(std::string_view json) {
    node_ = config::parse_json(json, "guide.json");
    return {&node_, "training", problems_};
  }

  config::Node node_;
  config::Problems problems_;
};

TEST_F(GuideSectionTest, ValuesAreTakenByAnyOfTheirSpellings) {
  GuideSection section =
      this->section(R"({"epochs": 3, "on": true, "nothing": null, "deep": {"a": 1}})");
  EXPECT_EQ(section.take_count({"num_epochs", "epochs"}), 3);
  EXPECT_EQ(section.take_flag("on"), true);
  EXPECT_EQ(section.take("nothing"), nullptr);
  EXPECT_EQ(section.take("absent"), nullptr);
  GuideSection deep = section.take_section("deep");
  EXPECT_EQ(deep.path(), "training.deep");
  EXPECT_EQ(deep.take("a")->text, "1");
  deep.end();
  section.take_section("absent").end();
  section.end();
  EXPECT_TRUE(problems_.empty()) << problems_.message();
}

TEST_F(GuideSectionTest, WhatNobodyTookIsToldWithItsPlaceAndACure) {
  GuideSection section = this->section(
      "{\"_comment_x\": 1,\n\"description\": 2,\n\"batch_sise\": 3,"
      "\n\"colour\": 4}");
  section.take("batch_size");
  section.end();
  EXPECT_THAT(
      problems_.message(),
      AllOf(HasSubstr(
                "guide.json:3: training.batch_sise: has no meaning here: did you mean batch_size?"),
            HasSubstr("guide.json:4: training.colour: has no meaning here: take it out, or name it "
                      "_comment_colour; known are batch_size")));
  EXPECT_EQ(problems_.size(), 2U);
}

TEST_F(GuideSectionTest, WrongValuesAreTold) {
  GuideSection section =
      this->section(R"({"on": "true", "count": 0, "steps": 1.5, "a": 1, "b": 2, "part": 3})");
  EXPECT_EQ(section.take_flag("on"), std::nullopt);
  EXPECT_EQ(section.take_count({"count"}), std::nullopt);
  EXPECT_EQ(section.take_count({"steps"}), std::nullopt);
  section.take({"a", "b"});
  section.take_section("part").end();
  EXPECT_THAT(problems_.message(),
              AllOf(HasSubstr("training.on: must be true or false, got the text 'true'"),
                    HasSubstr("training.count: must be a whole number of at least 1, got '0'"),
                    HasSubstr("training.steps: must be a whole number of at least 1, got '1.5'"),
                    HasSubstr("training.b: says the same as a: leave one of them out"),
                    HasSubstr("training.part: must be a section {...} of keys, got '3'")));
}

TEST_F(GuideSectionTest, ValuesArePutUnderPaths) {
  config::Node recipe = config::Node::map();
  put(recipe, "train.precision", config::Node::scalar("fp16"));
  put(recipe, "train.duration", config::Node::scalar("2ep"));
  put(recipe, "train.duration", config::Node::scalar("3ep"));
  EXPECT_EQ(config::to_flow_yaml(recipe), "{train: {precision: fp16, duration: 3ep}}");
}

}  // namespace
}  // namespace paceline::app
