#include "paceline/app/evaluation/class_map.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using ClassesOfModel = std::vector<std::int64_t>;

class ClassMapTest : public ::testing::Test {
 protected:
  ClassMap read(const std::string& text, const std::string& name = "map.yaml") const {
    return read_class_map(folder_.write(name, text), data_, model_);
  }
  std::string problem(const std::string& text) const {
    try {
      read(text);
    } catch (const base::ConfigError& error) {
      return error.what();
    }
    return "nothing";
  }

  paceline::test::TempFolder folder_;
  std::vector<std::string> data_{"n10", "n20"};
  std::vector<std::string> model_{"ant", "bee", "cat", "2", "n20"};
};

TEST_F(ClassMapTest, ClassesGoByTheirNamesAndElseByTheirNumbers) {
  const ClassMap map = read("n20: bee\nn10: 0\n");
  EXPECT_THAT(map.data_classes, ElementsAre("n20", "n10"));
  EXPECT_THAT(map.model_classes, ElementsAre(ClassesOfModel{1}, ClassesOfModel{0}));
}

TEST_F(ClassMapTest, ANameOfDigitsIsAName) {
  EXPECT_THAT(read("{n10: 2, n20: 1}").model_classes,
              ElementsAre(ClassesOfModel{3}, ClassesOfModel{1}));
}

TEST_F(ClassMapTest, ClassesThatTheDataLackKeepTheirPlaces) {
  const ClassMap map = read("{n05: 0, n10: 1, n20: 4}");
  EXPECT_THAT(map.data_classes, ElementsAre("n05", "n10", "n20"));
  EXPECT_THAT(map.model_classes,
              ElementsAre(ClassesOfModel{0}, ClassesOfModel{1}, ClassesOfModel{4}));
}

TEST_F(ClassMapTest, NumbersStandForTheDatasClasses) {
  EXPECT_THAT(read("{1: 4, 0: 1}").data_classes, ElementsAre("n20", "n10"));
}

TEST_F(ClassMapTest, AListIsInTheOrderOfTheData) {
  const ClassMap map = read("[4, bee]", "map.json");
  EXPECT_THAT(map.data_classes, ElementsAre("n10", "n20"));
  EXPECT_THAT(map.model_classes, ElementsAre(ClassesOfModel{4}, ClassesOfModel{1}));
}

TEST_F(ClassMapTest, AClassMayBeSeveralOfTheModels) {
  const ClassMap map = read("{n10: [bee, 0], n20: 4}");
  EXPECT_THAT(map.model_classes, ElementsAre(ClassesOfModel{1, 0}, ClassesOfModel{4}));
  EXPECT_THAT(read("[4, [ant, bee]]", "map.json").model_classes,
              ElementsAre(ClassesOfModel{4}, ClassesOfModel{0, 1}));
  EXPECT_THAT(problem("{n10: [ant, bee], n20: [cat, ant]}"),
              HasSubstr("class 0 of the model stands in it twice"));
  EXPECT_THAT(problem("{n10: [], n20: 4}"), HasSubstr("an empty list names no class"));
  EXPECT_THAT(problem("{n10: [[0]], n20: 4}"), HasSubstr("no class of the model"));
}

TEST_F(ClassMapTest, ProblemsAreNamed) {
  EXPECT_THAT(problem("{n10: 0}"), HasSubstr("which classes of the model n20 of the data are"));
  EXPECT_THAT(problem("{n10: 0, n20: dog}"), HasSubstr("'dog' is no class of the model"));
  EXPECT_THAT(problem("{n10: 0, n20: 5}"), HasSubstr("'5' is no class of the model"));
  EXPECT_THAT(problem("{n10: 0, n20: ant}"), HasSubstr("class 0 of the model stands in it twice"));
  EXPECT_THAT(problem("[0]"), HasSubstr("expected 2, got 1"));
  EXPECT_THAT(problem("just text"), HasSubstr("expected a map from classes"));
}

TEST_F(ClassMapTest, AModelWithoutNamesHasNumbers) {
  model_.clear();
  EXPECT_THAT(read("{n10: 999, n20: 0}").model_classes,
              ElementsAre(ClassesOfModel{999}, ClassesOfModel{0}));
  EXPECT_THAT(problem("{n10: cat, n20: 0}"), HasSubstr("a name or a number of its outputs"));
}

}  // namespace
}  // namespace paceline::app
