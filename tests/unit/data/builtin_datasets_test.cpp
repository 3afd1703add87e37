#include "paceline/data/builtin_datasets.h"

#include "paceline/base/error.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/data/tar_files.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;

TEST(BuiltinDatasets, NeedAPath) {
  EXPECT_THROW(open(ImageFolderConfig{}, Split::kTrain), base::ConfigError);
  EXPECT_THROW(open(Ilsvrc2012Config{}, Split::kTrain), base::ConfigError);
  EXPECT_THROW(open(WebDatasetConfig{}, Split::kTrain), base::ConfigError);
  EXPECT_THROW(open(ParquetConfig{}, Split::kTrain), base::ConfigError);
  EXPECT_THROW(open(MnistConfig{}, Split::kVal), base::ConfigError);
  EXPECT_THROW(open(NpyConfig{}, Split::kVal), base::ConfigError);
  EXPECT_THROW(open(Cifar10Config{}, Split::kTrain), base::ConfigError);
  EXPECT_THROW(open(Cifar100Config{}, Split::kVal), base::ConfigError);
}

TEST(BuiltinDatasets, OpenTheSplitThatIsAskedFor) {
  const paceline::test::TempFolder folder;
  folder.write("train/a/1.jpg", "x");
  folder.write("train/b/1.jpg", "x");
  folder.write("test/b/2.jpg", "x");
  ImageFolderConfig config;
  config.path = folder.path().string();
  config.val_folder = "test";
  EXPECT_EQ(open(config, Split::kTrain)->size(), 2);
  EXPECT_EQ(open(config, Split::kVal)->size(), 1);
  EXPECT_EQ(open(config, Split::kVal)->label(0), 1);
}

TEST(BuiltinDatasets, Ilsvrc2012TakesItsSettings) {
  const paceline::test::TempFolder folder;
  write_tar(folder.path() / "n00000001.tar", {{"n00000001_1.JPEG", "x"}});
  write_tar(folder.path() / "ILSVRC2012_img_val.tar", {{"val_1.JPEG", "x"}, {"val_2.JPEG", "y"}});
  folder.write("labels.txt", "val_1.JPEG 0\nval_2.JPEG n00000001\n");
  Ilsvrc2012Config config;
  config.path = folder.path().string();
  config.val_labels = "labels.txt";
  EXPECT_EQ(open(config, Split::kTrain)->size(), 1);
  EXPECT_EQ(open(config, Split::kVal)->size(), 2);
}

TEST(BuiltinDatasets, WebDatasetTakesItsSettings) {
  const paceline::test::TempFolder folder;
  write_tar(folder.path() / "a-train-0.tar", {{"1.jpg", "x"}, {"1.cls", "2"}, {"1.json", "{}"}});
  write_tar(folder.path() / "a-val-0.tar", {{"1.jpg", "x"},
                                            {"1.cls", "0"},
                                            {"2.jpg", "x"},
                                            {"2.cls", "1"},
                                            {"2.json", "{\"class\": 3}"}});
  write_tar(folder.path() / "more/b.tar", {{"1.jpg", "x"}, {"1.json", "{\"class\": 3}"}});
  WebDatasetConfig config;
  config.path = folder.path().string();
  EXPECT_EQ(open(config, Split::kTrain)->num_classes(), 3);
  EXPECT_EQ(open(config, Split::kVal)->size(), 2);
  config.train_shards = "more/{b,b}.tar";
  config.label_key = "class";
  config.classes = 10;
  EXPECT_EQ(open(config, Split::kTrain)->size(), 2);
  EXPECT_EQ(open(config, Split::kTrain)->num_classes(), 10);
  EXPECT_EQ(open(config, Split::kTrain)->label(1), 3);
}

TEST(BuiltinDatasets, ParquetTakesItsSettings) {
  const paceline::test::TempFolder folder;
  std::filesystem::create_directory(folder.path() / "data");
  const auto copy = [&](const char* from, const char* to) {
    std::filesystem::copy_file(std::filesystem::path(PACELINE_GOLDEN_DIR) / "parquet" / from,
                               folder.path() / to);
  };
  copy("texts.parquet", "data/train-00000-of-00001.parquet");
  copy("only_dogs.parquet", "data/validation-00000-of-00001.parquet");
  copy("required.parquet", "flat.parquet");
  ParquetConfig config;
  config.path = folder.path().string();
  EXPECT_EQ(open(config, Split::kTrain)->size(), 10);
  EXPECT_EQ(open(config, Split::kVal)->label(0), 2);  // dog, by the training files
  config.train_files = "flat.parquet";
  config.image_column = "img";
  config.label_column = "fine_label";
  config.classes = 20;
  EXPECT_EQ(open(config, Split::kTrain)->num_classes(), 20);
}

TEST(BuiltinDatasets, NpyTakesItsSettings) {
  NpyConfig config;
  config.path = PACELINE_GOLDEN_DIR "/npy";
  config.train_images = "rgb.npy";
  config.train_labels = "labels_i1.npy";
  config.val_images = "planes.npy";
  config.val_labels = "labels_u2.npy";
  EXPECT_EQ(open(config, Split::kTrain)->num_classes(), 3);
  config.classes = 301;
  EXPECT_EQ(open(config, Split::kTrain)->num_classes(), 301);
  EXPECT_EQ(open(config, Split::kVal)->label(1), 300);
}

TEST(BuiltinDatasets, ReadSmallFilesOfOtherMachines) {
  const test::CacheHome cache;
  const auto storage = std::make_shared<test::FakeStorage>();
  storage->files["https://host/cifar/test.bin"] = std::string(2 * 3074, '\7');
  storage->files["s3://b/mnist/raw/t10k-images-idx3-ubyte"] =
      std::string("\0\0\x08\x03\0\0\0\1\0\0\0\2\0\0\0\2abcd", 20);
  storage->files["s3://b/mnist/raw/t10k-labels-idx1-ubyte"] =
      std::string("\0\0\x08\x01\0\0\0\1\3", 9);
  EXPECT_EQ(open(Cifar100Config{"https://host/cifar"}, Split::kVal, storage)->label(1), 7);
  const auto mnist = open(MnistConfig{"s3://b/mnist"}, Split::kVal, storage);
  EXPECT_EQ(mnist->size(), 1);
  EXPECT_EQ(mnist->label(0), 3);
  NpyConfig npy;
  npy.path = "s3://b/mnist";
  EXPECT_THAT([&] { open(npy, Split::kVal, storage); },
              ::testing::ThrowsMessage<base::DataError>(HasSubstr("val_images.npy")));
}

TEST(BuiltinDatasets, TakeFileUrls) {
  const test::TempFolder folder;
  folder.write("train/a/1.jpg", "x");
  EXPECT_EQ(open(ImageFolderConfig{"file://" + folder.path().string()}, Split::kTrain)->size(), 1);
}

TEST(BuiltinDatasets, SyntheticSplitsDiffer) {
  SyntheticConfig config;
  config.num_samples = 30;
  config.num_val_samples = 7;
  const auto train = open(config, Split::kTrain);
  const auto val = open(config, Split::kVal);
  EXPECT_EQ(train->size(), 30);
  EXPECT_EQ(val->size(), 7);
  EXPECT_NE(train->fingerprint(), val->fingerprint());
  StoredSample a;
  StoredSample b;
  train->get(0, a);
  val->get(0, b);
  EXPECT_EQ(a.label, b.label);
  EXPECT_NE(a.bytes, b.bytes);
}

TEST(BuiltinDatasets, EachHasASchema) {
  EXPECT_EQ(config::describe<ImageFolderConfig>().name, "image_folder");
  EXPECT_EQ(config::describe<Ilsvrc2012Config>().name, "ilsvrc2012");
  EXPECT_EQ(config::describe<WebDatasetConfig>().name, "webdataset");
  EXPECT_EQ(config::describe<ParquetConfig>().name, "parquet");
  EXPECT_EQ(config::describe<MnistConfig>().name, "mnist");
  EXPECT_EQ(config::describe<NpyConfig>().name, "npy");
  EXPECT_EQ(config::describe<Cifar10Config>().name, "cifar10");
  EXPECT_EQ(config::describe<Cifar100Config>().name, "cifar100");
  EXPECT_EQ(config::describe<SyntheticConfig>().name, "synthetic");
}

TEST(CheckNumClasses, NamesBothNumbers) {
  const auto dataset = open(SyntheticConfig{}, Split::kTrain);
  check_num_classes(*dataset, 10);
  check_num_classes(*dataset, 12);
  try {
    check_num_classes(*dataset, 9);
    FAIL();
  } catch (const base::DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("model.num_classes is 9"));
    EXPECT_THAT(error.what(), HasSubstr("10 classes"));
  }
}

}  // namespace
}  // namespace paceline::data
