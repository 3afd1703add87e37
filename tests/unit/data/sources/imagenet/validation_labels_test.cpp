#include "paceline/data/sources/imagenet/validation_labels.h"

#include "paceline/base/error.h"
#include "support/data/devkit.h"
#include "support/data/fake_storage.h"

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

const auto kKitLabels = ElementsAre(Pair(1, "n04254777"), Pair(2, "n02119789"),
                                    Pair(3, "n02119789"), Pair(4, "n01440764"));

TEST(ValidationLabels, ReadsTheExtractedKit) {
  const TempFolder folder;
  write_kit(folder, "4\n1\n1\r\n3\n");
  EXPECT_EQ(find_validation_labels(folder.path(), *local_storage()), "ILSVRC2012_devkit_t12");
  const fs::path kit = folder.path() / "ILSVRC2012_devkit_t12";
  EXPECT_THAT(read_validation_labels(kit, *local_storage()), kKitLabels);
  EXPECT_THAT(read_validation_labels(kit / "data", *local_storage()), kKitLabels);
  EXPECT_THAT(
      validation_label_files(kit, *local_storage()),
      ElementsAre(kit / "data/ILSVRC2012_validation_ground_truth.txt", kit / "data/meta.mat"));
}

TEST(ValidationLabels, ReadsTheKitsArchive) {
  const TempFolder folder;
  const fs::path kit = write_tar(
      folder.path() / "ILSVRC2012_devkit_t12.tar.gz",
      {{"ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt", "4\n1\n1\n3\n"},
       {"ILSVRC2012_devkit_t12/data/meta.mat", golden_meta()}});
  EXPECT_EQ(find_validation_labels(folder.path(), *local_storage()),
            "ILSVRC2012_devkit_t12.tar.gz");
  EXPECT_THAT(read_validation_labels(kit, *local_storage()), kKitLabels);
  EXPECT_THAT(validation_label_files(kit, *local_storage()), ElementsAre(kit));
  write_tar(kit, {{"other", "x"}});
  EXPECT_THAT([&] { read_validation_labels(kit, *local_storage()); },
              ThrowsMessage<base::DataError>(HasSubstr("holds no ILSVRC2012_validation_ground")));
}

TEST(ValidationLabels, ReadsWhatLiesOnAnotherMachine) {
  const TempFolder folder;
  write_kit(folder, "4\n1\n1\n3\n");
  write_tar(folder.path() / "kit.tar.gz",
            {{"ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt", "4\n1\n1\n3\n"},
             {"ILSVRC2012_devkit_t12/data/meta.mat", golden_meta()}});
  folder.write("val.txt", "a_1.jpg n01440764\n");
  const auto storage = paceline::test::copy_of(folder.path(), "s3://b");
  EXPECT_THAT(read_validation_labels("s3://b/ILSVRC2012_devkit_t12", *storage), kKitLabels);
  EXPECT_THAT(
      validation_label_files("s3://b/ILSVRC2012_devkit_t12", *storage),
      ElementsAre("s3://b/ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt",
                  "s3://b/ILSVRC2012_devkit_t12/data/meta.mat"));
  EXPECT_THAT(read_validation_labels("s3://b/kit.tar.gz", *storage), kKitLabels);
  EXPECT_THAT(read_validation_labels("s3://b/val.txt", *storage),
              ElementsAre(Pair(1, "n01440764")));
}

TEST(ValidationLabels, RefusesAnInnerNodeOrAnUnknownClass) {
  const TempFolder folder;
  for (const char* truth : {"1\n5\n", "1\n99\n", "1\nx\n", "1\n\n2\n"}) {
    write_kit(folder, truth);
    EXPECT_THAT(
        [&] { read_validation_labels(folder.path() / "ILSVRC2012_devkit_t12", *local_storage()); },
        ThrowsMessage<base::DataError>(AllOf(HasSubstr("line 2"), HasSubstr("no class"))));
  }
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
