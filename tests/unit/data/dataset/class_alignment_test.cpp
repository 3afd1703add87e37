#include "paceline/data/dataset/class_alignment.h"

#include "paceline/base/error.h"
#include "unit/data/named_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using Names = std::vector<std::string>;

/// One sample of each class.
std::unique_ptr<Dataset> one_of_each(const Names& classes) {
  std::vector<test::NamedSample> samples;
  for (std::size_t label = 0; label < classes.size(); ++label)
    samples.push_back({static_cast<std::int64_t>(label), classes[label]});
  return std::make_unique<test::NamedDataset>(std::move(samples), static_cast<int>(classes.size()),
                                              classes);
}

TEST(ClassAlignment, LabelsFollowTheNames) {
  const auto aligned = align_classes(one_of_each({"dog", "cat"}), Names{"ant", "cat", "dog"});
  EXPECT_EQ(aligned->num_classes(), 3);
  EXPECT_EQ(aligned->label(0), 2);
  EXPECT_EQ(aligned->label(1), 1);
  StoredSample sample;
  aligned->get(0, sample);
  EXPECT_EQ(sample.label, 2);
  EXPECT_EQ(aligned->class_names(), (Names{"ant", "cat", "dog"}));
  EXPECT_EQ(aligned->describe(1), "file of cat");
}

TEST(ClassAlignment, ADataSetThatAgreesStaysItself) {
  for (const Names& own :
       {Names{"ant", "cat", "dog"}, Names{"ant", "cat"}, Names{}, Names{"0", "1", "2", "3"}}) {
    auto dataset = one_of_each(own);
    const Dataset* const before = dataset.get();
    EXPECT_EQ(align_classes(std::move(dataset), Names{"ant", "cat", "dog"}).get(), before);
  }
  auto dataset = one_of_each({"cat"});
  const Dataset* const before = dataset.get();
  EXPECT_EQ(align_classes(std::move(dataset), Names{}).get(), before);
}

TEST(ClassAlignment, NumbersAreNamesWhereBothSidesHaveThem) {
  const auto aligned = align_classes(one_of_each({"0", "1", "2"}), Names{"0", "1", "10", "2"});
  EXPECT_EQ(aligned->label(2), 3);
}

TEST(ClassAlignment, AnUnknownNumberIsRefusedWhereNumbersAreNames) {
  EXPECT_THAT(
      [] {
        align_classes(one_of_each({"0", "1"}), Names{"1", "2", "5"});
      },
      ThrowsMessage<base::DataError>(HasSubstr("classes that the training data have not: 0")));
}

TEST(ClassAlignment, AnUnknownClassIsRefused) {
  EXPECT_THAT(
      [] {
        align_classes(one_of_each({"cat", "cow"}), Names{"cat", "dog"});
      },
      ThrowsMessage<base::DataError>(
          AllOf(HasSubstr("have not: cow"), HasSubstr("some of cat, dog"))));
}

}  // namespace
}  // namespace paceline::data
