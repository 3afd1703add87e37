#include "paceline/data/dataset/concatenation.h"

#include "paceline/base/error.h"
#include "paceline/data/dataset/subset.h"
#include "unit/data/named_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::NamedDataset;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::unique_ptr<Dataset> two_parts() {
  std::vector<std::unique_ptr<Dataset>> parts;
  parts.push_back(std::make_unique<NamedDataset>(
      std::vector<paceline::test::NamedSample>{{0, "a"}, {1, "b"}, {1, "c"}}, 2,
      std::vector<std::string>{"cat", "dog"}));
  parts.push_back(
      std::make_unique<NamedDataset>(std::vector<paceline::test::NamedSample>{{0, "a"}, {1, "d"}},
                                     2, std::vector<std::string>{"dog", "cat"}));
  return concatenate(std::move(parts));
}

TEST(Concatenation, HasAllSamplesPartByPart) {
  const auto all = two_parts();
  ASSERT_EQ(all->size(), 5);
  std::vector<int> parts;
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < all->size(); ++i) {
    parts.push_back(all->part(i));
    names.push_back(all->name(i));
  }
  EXPECT_EQ(parts, (std::vector{0, 0, 0, 1, 1}));
  EXPECT_EQ(names, (std::vector<std::string>{"0/a", "0/b", "0/c", "1/a", "1/d"}));
  EXPECT_EQ(all->describe(4), "file of d");
  StoredSample sample;
  all->get(4, sample);
  EXPECT_EQ(sample.width, 1) << "number 1 of its part";
  EXPECT_EQ(all->fingerprint(), "mixture(whole, aligned:whole)");
}

TEST(Concatenation, LabelsGoByTheNamesOfTheFirstPart) {
  const auto all = two_parts();
  EXPECT_EQ(all->class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(all->label(3), 1) << "which is 0, dog, in its part";
  EXPECT_EQ(all->label(4), 0);
  StoredSample sample;
  all->get(3, sample);
  EXPECT_EQ(sample.label, 1);
}

TEST(Concatenation, ViewsKnowTheParts) {
  const auto some = make_subset(two_parts(), 4, 1);
  int of_second = 0;
  for (std::int64_t i = 0; i < some->size(); ++i) of_second += some->part(i);
  EXPECT_GE(of_second, 1);
  EXPECT_LT(of_second, 4);
}

TEST(Concatenation, RefusesClassesThatTheFirstPartHasNot) {
  std::vector<std::unique_ptr<Dataset>> parts;
  for (const std::string name : {"cat", "bird"}) {
    parts.push_back(std::make_unique<NamedDataset>(
        std::vector<paceline::test::NamedSample>{{0, "a"}}, 1, std::vector<std::string>{name}));
  }
  EXPECT_THAT([&] { concatenate(std::move(parts)); },
              ThrowsMessage<base::DataError>(
                  HasSubstr("part 2 has classes that part 1 has not: bird; expected some of cat")));
}

}  // namespace
}  // namespace paceline::data
