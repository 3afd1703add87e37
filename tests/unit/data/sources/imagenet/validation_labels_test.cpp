#include "paceline/data/sources/imagenet/validation_labels.h"

#include "paceline/base/error.h"
#include "support/data/devkit.h"
#include "support/data/fake_storage.h"
#include "support/data/tar_files.h"

#include <fstream>

#include <archive.h>
#include <archive_entry.h>
#include <gmock/gmock.h>

namespace paceline::data {
namespace {

namespace fs = std::filesystem;
using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::ThrowsMessage;

constexpr char kTruthInTar[] = "ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt";

void expect_kit(const ValidationLabels& labels) {
  ASSERT_EQ(labels.size(), 50'000u);
  EXPECT_EQ(labels.at(1), "n01751748");
  EXPECT_EQ(labels.at(2), "n09193705");
  EXPECT_EQ(labels.at(11), "n02119789");
  EXPECT_EQ(labels.at(50'000), "n03255030");
}

TEST(ValidationLabels, ReadsTheExtractedKit) {
  const TempFolder folder;
  write_kit(folder);
  EXPECT_EQ(find_validation_labels(folder.path(), *local_storage()), "ILSVRC2012_devkit_t12");
  const fs::path kit = folder.path() / "ILSVRC2012_devkit_t12";
  expect_kit(read_validation_labels(kit, *local_storage()));
  expect_kit(read_validation_labels(kit / "data", *local_storage()));
  EXPECT_THAT(validation_label_files(kit, *local_storage()),
              ElementsAre(kit / "data/ILSVRC2012_validation_ground_truth.txt"));
  std::string truth = kit_truth();
  for (std::size_t i = truth.find('\n'); i != std::string::npos; i = truth.find('\n', i + 2))
    truth.insert(i, "\r");
  write_kit(folder, truth);
  expect_kit(read_validation_labels(kit, *local_storage()));
}

TEST(ValidationLabels, ReadsTheKitsArchive) {
  const TempFolder folder;
  const fs::path kit = write_tar(folder.path() / "ILSVRC2012_devkit_t12.tar.gz",
                                 {{kTruthInTar, kit_truth()}, {"other", "x"}});
  EXPECT_EQ(find_validation_labels(folder.path(), *local_storage()),
            "ILSVRC2012_devkit_t12.tar.gz");
  expect_kit(read_validation_labels(kit, *local_storage()));
  EXPECT_THAT(validation_label_files(kit, *local_storage()), ElementsAre(kit));
  write_tar(kit, {{"other", "x"}});
  EXPECT_THAT([&] { read_validation_labels(kit, *local_storage()); },
              ThrowsMessage<base::DataError>(HasSubstr("holds no ILSVRC2012_validation_ground")));
}

TEST(ValidationLabels, ReadsWhatLiesOnAnotherMachine) {
  const TempFolder folder;
  write_kit(folder);
  write_tar(folder.path() / "kit.tar.gz", {{kTruthInTar, kit_truth()}});
  folder.write("val.txt", "a_1.jpg n01440764\n");
  const auto storage = paceline::test::copy_of(folder.path(), "s3://b");
  expect_kit(read_validation_labels("s3://b/ILSVRC2012_devkit_t12", *storage));
  EXPECT_THAT(
      validation_label_files("s3://b/ILSVRC2012_devkit_t12", *storage),
      ElementsAre("s3://b/ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt"));
  expect_kit(read_validation_labels("s3://b/kit.tar.gz", *storage));
  EXPECT_THAT(read_validation_labels("s3://b/val.txt", *storage),
              ElementsAre(Pair(1, "n01440764")));
}

TEST(ValidationLabels, RefusesAnUnknownClass) {
  const TempFolder folder;
  for (const char* truth : {"490\n1001\n", "490\n0\n", "490\nx\n", "490\n\n2\n"}) {
    write_kit(folder, truth);
    EXPECT_THAT(
        [&] { read_validation_labels(folder.path() / "ILSVRC2012_devkit_t12", *local_storage()); },
        ThrowsMessage<base::DataError>(AllOf(HasSubstr("line 2"), HasSubstr("1 to 1000"))));
  }
}

TEST(ValidationLabels, RefusesAKitOfOtherImages) {
  const TempFolder folder;
  const auto expect_refusal = [&](const std::string& truth, const char* problem) {
    write_kit(folder, truth);
    EXPECT_THAT(
        [&] { read_validation_labels(folder.path() / "ILSVRC2012_devkit_t12", *local_storage()); },
        ThrowsMessage<base::DataError>(AllOf(HasSubstr("is not ILSVRC2012's"), HasSubstr(problem),
                                             HasSubstr("ILSVRC2012_devkit_t12.tar.gz"),
                                             HasSubstr("data.val_labels"))));
  };
  const std::string truth = kit_truth();
  expect_refusal("490\n361\n", "2 lines, expected 50000");
  expect_refusal("65\n" + truth.substr(4), "begins with the classes 65 361");
  expect_refusal(truth.substr(0, truth.size() - 5) + "999\n", "class 999 has 51 images");
}

TEST(ValidationLabels, ReadsKagglesTable) {
  const TempFolder folder;
  folder.write("LOC_val_solution.csv",
               "ImageId,PredictionString\n"
               "ILSVRC2012_val_00048981,n03995372 85 1 499 272 \n"
               "ILSVRC2012_val_00037956,n03481172 131 0 499 254 n03481172 0 0 9 9 \r\n");
  EXPECT_EQ(find_validation_labels(folder.path(), *local_storage()), "LOC_val_solution.csv");
  EXPECT_THAT(read_validation_labels(folder.path() / "LOC_val_solution.csv", *local_storage()),
              ElementsAre(Pair(37956, "n03481172"), Pair(48981, "n03995372")));
}

TEST(ValidationLabels, ReadsTwoColumns) {
  const TempFolder folder;
  folder.write(
      "val.txt",
      "ILSVRC2012_val_00000001.JPEG 65\n\nval/ILSVRC2012_val_00000002.JPEG\tn01440764\r\n");
  EXPECT_EQ(find_validation_labels(folder.path(), *local_storage()), "val.txt");
  EXPECT_THAT(read_validation_labels(folder.path() / "val.txt", *local_storage()),
              ElementsAre(Pair(1, "65"), Pair(2, "n01440764")));
}

TEST(ValidationLabels, NamesABadLine) {
  const TempFolder folder;
  for (const char* text : {"a_1.JPEG 3\na_2.JPEG\n", "a_1.JPEG 3\nnameless 4\n"}) {
    const fs::path file = folder.write("val.txt", text);
    EXPECT_THAT([&] { read_validation_labels(file, *local_storage()); },
                ThrowsMessage<base::DataError>(AllOf(HasSubstr("val.txt"), HasSubstr("line 2"))));
  }
  EXPECT_THAT([&] { read_validation_labels(folder.write("val.txt", "\n"), *local_storage()); },
              ThrowsMessage<base::DataError>(HasSubstr("holds no labels")));
  EXPECT_THROW(read_validation_labels(folder.path() / "absent.txt", *local_storage()),
               base::DataError);
  EXPECT_EQ(find_validation_labels(folder.path() / "absent", *local_storage()), "");
}

TEST(ValidationLabels, WhatCannotBeLookedAtIsNotTakenForAbsent) {
  const TempFolder folder;
  const fs::path loop = folder.path() / "loop";
  fs::create_symlink(loop, loop);
  EXPECT_THAT([&] { read_validation_labels(loop, *local_storage()); },
              ThrowsMessage<base::DataError>(HasSubstr("symbolic links")));
}

TEST(NumberInName, IsTheDigitsBeforeTheEnding) {
  EXPECT_EQ(number_in_name("ILSVRC2012_val_00000293.JPEG"), 293);
  EXPECT_EQ(number_in_name("ILSVRC2012_val_00050000"), 50000);
  EXPECT_EQ(number_in_name("7.jpg"), 7);
  EXPECT_EQ(number_in_name("photo.jpg"), std::nullopt);
  EXPECT_EQ(number_in_name(""), std::nullopt);
  EXPECT_EQ(number_in_name("1234567890123456789012.jpg"), std::nullopt);
}

}  // namespace
}  // namespace paceline::data
