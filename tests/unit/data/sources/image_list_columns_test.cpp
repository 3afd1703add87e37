#include "paceline/data/sources/image_list_columns.h"

#include "paceline/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using ListNames = std::vector<std::string>;

constexpr auto kListTrain = RowPart::kTraining;
constexpr auto kListVal = RowPart::kValidation;
constexpr auto kListUnused = RowPart::kUnused;

/// Places of path and label, and of split or -1.
std::vector<int> places_in_list(const ListNames& names, const ImageListConfig& config = {}) {
  const ImageListColumns columns = find_columns(names, config, "x.csv");
  return {static_cast<int>(columns.path), static_cast<int>(columns.label),
          columns.split ? static_cast<int>(*columns.split) : -1};
}

TEST(ImageListColumns, AreFoundByTheirUsualNames) {
  EXPECT_THAT(places_in_list({"label", "path"}), ElementsAre(1, 0, -1));
  EXPECT_THAT(places_in_list({"id", "Tags", "split", "file_name"}), ElementsAre(3, 1, 2));
  EXPECT_THAT(places_in_list({"fname", "labels", "is_valid"}), ElementsAre(0, 1, 2)) << "fastai's";
  EXPECT_THAT(places_in_list({"image", "fold", "target"}), ElementsAre(0, 2, 1));
  EXPECT_THAT(places_in_list({"image", "class", "path", "label"}), ElementsAre(2, 3, -1))
      << "in this order";
}

TEST(ImageListColumns, AreElseTheFirstWithNames) {
  EXPECT_THAT(places_in_list({"id", "breed"}), ElementsAre(0, 1, -1));
  EXPECT_THAT(places_in_list({"", "id", "breed"}), ElementsAre(1, 2, -1))
      << "behind pandas's index";
  EXPECT_THAT(places_in_list({"breed", "image"}), ElementsAre(1, 0, -1));
  EXPECT_THAT(places_in_list({"split", "id", "breed"}), ElementsAre(1, 2, 0));
}

TEST(ImageListColumns, AreThoseThatAreNamed) {
  const ListNames names{"path", "label", "age", "split"};
  EXPECT_THAT(places_in_list(names, {.label_column = "age"}), ElementsAre(0, 2, 3));
  EXPECT_THAT(places_in_list(names, {.path_column = "label", .label_column = "path"}),
              ElementsAre(1, 0, 3));
  EXPECT_THAT(places_in_list(names, {.split_column = "age"}), ElementsAre(0, 1, 2));
  EXPECT_THAT(places_in_list(names, {.split_column = "none"}), ElementsAre(0, 1, -1));
}

TEST(ImageListColumns, ThatAreMissingAreNamed) {
  const auto find = [](const ListNames& names, const ImageListConfig& config) {
    return [=] { find_columns(names, config, "x.csv"); };
  };
  EXPECT_THAT(find({"file", "labels"}, {.label_column = "label"}),
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("x.csv: has no column 'label', which data.label_column names"),
                        HasSubstr("did you mean labels?"), HasSubstr("file, labels"))));
  EXPECT_THAT(find({"file"}, {}),
              ThrowsMessage<base::DataError>(HasSubstr("no column for labels beside file")));
  EXPECT_THAT(find({"a", "b"}, {.split_column = "c"}),
              ThrowsMessage<base::DataError>(HasSubstr("data.split_column")));
}

std::vector<RowPart> parts_of_list(const ListNames& texts, const std::string& column = "split",
                                   const std::string& val_split = "") {
  std::vector<SplitText> met;
  for (const std::string& text : texts) met.push_back({text, std::ssize(met) + 2});
  return parts_of(met, column, val_split, "x.csv");
}

TEST(ImageListSplits, GoByTheirUsualNames) {
  EXPECT_THAT(parts_of_list({"train", "val", "test"}),
              ElementsAre(kListTrain, kListVal, kListUnused));
  EXPECT_THAT(parts_of_list({"Training", "VALID", "testing"}),
              ElementsAre(kListTrain, kListVal, kListUnused));
  EXPECT_THAT(parts_of_list({"train", "test"}), ElementsAre(kListTrain, kListVal));
  EXPECT_THAT(parts_of_list({"train", "val", "test"}, "split", "test"),
              ElementsAre(kListTrain, kListUnused, kListVal));
  EXPECT_THAT(parts_of_list({"True", "False"}, "is_valid"), ElementsAre(kListVal, kListTrain));
  EXPECT_THAT(parts_of_list({"0", "1"}, "is_valid"), ElementsAre(kListTrain, kListVal));
}

TEST(ImageListSplits, MayBeFoldsOfWhichOneIsHeldOut) {
  EXPECT_THAT(parts_of_list({"2", "0", "1"}, "split", "1"),
              ElementsAre(kListTrain, kListTrain, kListVal));
  EXPECT_THAT(parts_of_list({"1", "0"}, "kfold", "0"), ElementsAre(kListTrain, kListVal));
  EXPECT_THAT(
      [] {
        parts_of_list({"0", "1", "2"}, "fold");
      },
      ThrowsMessage<base::ConfigError>(
          AllOf(HasSubstr("data.val_split: is not set"), HasSubstr("0, 1, 2"))));
  EXPECT_THAT(
      [] {
        parts_of_list({"0", "1", "2"}, "fold", "3");
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("there is no fold '3'")));
  EXPECT_THAT(
      [] {
        parts_of_list({"0", "x"}, "fold", "0");
      },
      ThrowsMessage<base::DataError>(HasSubstr("x.csv, line 3: 'x' in the column fold")));
}

TEST(ImageListSplits, ThatSayNothingAreNamed) {
  EXPECT_THAT(
      [] {
        parts_of_list({"train", "maybe"});
      },
      ThrowsMessage<base::DataError>(AllOf(HasSubstr("x.csv, line 3: 'maybe' in the column split"),
                                           HasSubstr("data.split_column=none"))));
  for (const char* const wrong : {"train", "later"})
    EXPECT_THAT(
        [&] {
          parts_of_list({"train", "val"}, "split", wrong);
        },
        ThrowsMessage<base::ConfigError>(
            HasSubstr(fmt::format("data.val_split: '{}' is no part", wrong))));
  EXPECT_THAT(
      [] {
        parts_of_list({"train", "val"}, "split", "test");
      },
      ThrowsMessage<base::ConfigError>(HasSubstr("no row of x.csv is of 'test'")));
}

}  // namespace
}  // namespace paceline::data
