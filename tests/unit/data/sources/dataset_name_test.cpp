#include "paceline/data/sources/dataset_name.h"

#include "paceline/base/error.h"
#include "support/data/fake_storage.h"
#include "support/temp_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using paceline::test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(DatasetName, IsKnownByWhatLiesThere) {
  const std::pair<const char*, const char*> cases[] = {
      {"train/cat/1.jpg", "image_folder"},
      {"val/cat/1.jpg", "image_folder"},
      {"train/manifest.json", "packed"},
      {"ILSVRC2012_img_val.tar", "ilsvrc2012"},
      {"ILSVRC/Data/CLS-LOC/train/n1/a.JPEG", "ilsvrc2012"},
      {"n01440764.tar", "ilsvrc2012"},
      {"train/n01440764.tar", "ilsvrc2012"},
      {"LOC_val_solution.csv", "ilsvrc2012"},
      {"set-train-000.tar", "webdataset"},
      {"train-00000-of-00001.parquet", "parquet"},
      {"data/train-00000-of-00294.parquet", "parquet"},
      {"data_batch_1.bin", "cifar10"},
      {"data_batch_1", "cifar10"},
      {"cifar-10-python.tar.gz", "cifar10"},
      {"cifar-100-binary.tar.gz", "cifar100"},
      {"cifar-100-python/train", "cifar100"},
      {"train-images-idx3-ubyte.gz", "mnist"},
      {"train_images.npy", "npy"},
      {"ct_manifest.json", "ct"},
  };
  for (const auto& [file, name] : cases) {
    const TempFolder folder;
    folder.write(file, "");
    EXPECT_EQ(dataset_name(folder.path()), name) << file;
  }
}

TEST(DatasetName, OfPythonsCifar100IsKnownByItsFiles) {
  const TempFolder folder;
  for (const char* file : {"renamed/train", "renamed/test", "renamed/meta"}) folder.write(file, "");
  EXPECT_EQ(dataset_name(folder.path() / "renamed"), "cifar100");
  EXPECT_EQ(dataset_name(folder.path() / "renamed/"), "cifar100");
}

TEST(DatasetName, OfAnArchiveIsItsOwn) {
  EXPECT_EQ(dataset_name("somewhere/cifar-10-binary.tar.gz"), "cifar10");
  EXPECT_EQ(dataset_name("somewhere/cifar-100-python.tar.gz"), "cifar100");
}

TEST(DatasetName, OfAListIsKnownByItsEnding) {
  EXPECT_EQ(dataset_name("somewhere/images.csv"), "image_list");
  EXPECT_EQ(dataset_name("https://host/IMAGES.TSV"), "image_list");
}

TEST(DatasetName, UnknownFoldersAreToldWhatWasLookedFor) {
  const TempFolder folder;
  folder.write("notes.txt", "");
  EXPECT_THAT([&] { dataset_name(folder.path()); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr(folder.path().string()), HasSubstr("--format"))));
  EXPECT_THAT([&] { dataset_name(folder.path() / "absent"); },
              ThrowsMessage<base::DataError>(HasSubstr("absent")));
}

TEST(DatasetName, KnowsRemotePlacesThatCanBeListed) {
  const auto storage = std::make_shared<test::FakeStorage>();
  storage->files["s3://b/tars/x-000.tar"] = "";
  storage->files["s3://b/folder/train/a/1.jpg"] = "";
  storage->files["s3://b/pack/train/manifest.json"] = "";
  storage->files["s3://b/tars of classes/train/n01440764.tar"] = "";
  EXPECT_EQ(dataset_name("s3://b/tars", storage), "webdataset");
  EXPECT_EQ(dataset_name("s3://b/folder", storage), "image_folder");
  EXPECT_EQ(dataset_name("s3://b/pack", storage), "packed");
  EXPECT_EQ(dataset_name("s3://b/tars of classes", storage), "ilsvrc2012");
  EXPECT_EQ(dataset_name("https://host/cifar-10-binary.tar.gz", storage), "cifar10");
  EXPECT_THAT([&] { dataset_name("https://host/x", storage); },
              ThrowsMessage<base::DataError>(HasSubstr("--format")));
}

}  // namespace
}  // namespace paceline::data
