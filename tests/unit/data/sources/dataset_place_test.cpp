#include "paceline/data/sources/dataset_place.h"

#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(DatasetPlace, AMissingPathNamesTheDataset) {
  EXPECT_THAT([] { require_path("", "npy"); },
              ThrowsMessage<base::ConfigError>(AllOf(HasSubstr("data.path"), HasSubstr("npy"))));
  EXPECT_THROW(place_of("", "npy"), base::ConfigError);
  EXPECT_EQ(place_of("file:///a/b", "npy"), "/a/b");
  EXPECT_EQ(local_place_of("/a/b", "npy", local_storage(), {}), "/a/b");
}

TEST(DatasetPlace, AFolderOfADotIsThePlaceItself) {
  EXPECT_EQ(folder_of("train", "val", Split::kVal), "val");
  EXPECT_EQ(folder_of(".", "val", Split::kTrain), "");
}

TEST(DatasetPlace, TheValidationPartIsAFolderOfItsPlaceOrThatItself) {
  const paceline::test::TempFolder folder;
  folder.write("split/val/a/1.jpg", "x");
  folder.write("whole/a/1.jpg", "x");
  folder.write("other/train/a/1.jpg", "x");
  const auto at = [&](const char* place) {
    return val_folder_at((folder.path() / place).string(), "train", "val", *local_storage());
  };
  EXPECT_EQ(at("split"), "val");
  EXPECT_EQ(at("whole"), ".");
  EXPECT_THAT([&] { at("other"); }, ThrowsMessage<base::DataError>(HasSubstr("data.val_folder")));
}

TEST(DatasetPlace, AValidationPlaceMustBeThere) {
  const paceline::test::TempFolder folder;
  EXPECT_NO_THROW(require_val_path(folder.path().string()));
  EXPECT_NO_THROW(require_val_path("s3://b/x"));
  EXPECT_THROW(require_val_path((folder.path() / "none").string()), base::DataError);
  EXPECT_THROW(refuse_val_path("synthetic"), base::ConfigError);
}

}  // namespace
}  // namespace paceline::data
