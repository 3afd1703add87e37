#include "paceline/data/sources/npy_dataset.h"

#include "paceline/base/error.h"
#include "support/data/cache_home.h"
#include "support/data/fake_storage.h"
#include "support/temp_folder.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::unique_ptr<Dataset> open(const std::string& images, const std::string& labels,
                              std::optional<int> num_classes = {}) {
  const std::string folder = PACELINE_GOLDEN_DIR "/npy/";
  return open_npy_dataset(folder + images, folder + labels, num_classes);
}

StoredSample second_of(const std::string& images) {
  StoredSample sample;
  open(images, "labels_i8.npy")->get(1, sample);
  EXPECT_EQ(sample.height, 3);
  EXPECT_EQ(sample.width, 4);
  EXPECT_EQ(sample.label, 300);
  return sample;
}

TEST(NpyDataset, TakesColourPlanesAndGreys) {
  const std::vector<std::uint8_t> rgb = second_of("rgb.npy").bytes;
  for (std::size_t i = 0; i < rgb.size(); ++i) EXPECT_EQ(rgb[i], 36 + i);
  EXPECT_EQ(second_of("planes.npy").bytes, rgb);
  const std::vector<std::uint8_t> gray = second_of("gray.npy").bytes;
  for (std::size_t i = 0; i < gray.size(); ++i) EXPECT_EQ(gray[i], 36 + i / 3 * 3);
}

TEST(NpyDataset, CountsClasses) {
  EXPECT_EQ(open("rgb.npy", "labels_u1.npy")->num_classes(), 3);
  EXPECT_EQ(open("rgb.npy", "labels_u1.npy", 10)->num_classes(), 10);
  EXPECT_THROW(open("rgb.npy", "labels_u2.npy", 10), base::DataError);
  EXPECT_THAT([] { open("rgb.npy", "negative.npy"); },
              ThrowsMessage<base::DataError>(HasSubstr("negative.npy: label -2 of sample 1")));
}

TEST(NpyDataset, NamesArraysOfAnotherShapeOrType) {
  EXPECT_THAT([] { open("labels_u1.npy", "labels_u1.npy"); },
              ThrowsMessage<base::DataError>(
                  AllOf(HasSubstr("labels_u1.npy: shape (2)"), HasSubstr("(N, H, W)"))));
  EXPECT_THAT([] { open("rgb.npy", "gray.npy"); },
              ThrowsMessage<base::DataError>(HasSubstr("gray.npy: shape (2, 3, 4)")));
  EXPECT_THAT(
      [] { open("wide.npy", "labels_u1.npy"); },
      ThrowsMessage<base::DataError>(HasSubstr("wide.npy: images of int16, expected uint8")));
}

TEST(NpyDataset, AFileThatIsCutShortUnderARunIsAnError) {
  const paceline::test::TempFolder folder;
  for (const char* const name : {"rgb.npy", "labels_i8.npy"})
    std::filesystem::copy(std::string(PACELINE_GOLDEN_DIR "/npy/") + name, folder.path() / name);
  const auto dataset =
      open_npy_dataset(folder.path() / "rgb.npy", folder.path() / "labels_i8.npy", {});
  std::filesystem::resize_file(folder.path() / "rgb.npy", 0);
  StoredSample sample;
  EXPECT_THAT(
      [&] { dataset->get(1, sample); },
      ThrowsMessage<base::DataError>(AllOf(HasSubstr("rgb.npy"), HasSubstr("become shorter"))));
}

TEST(NpyDataset, TakesItsSettings) {
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

TEST(NpyDataset, NamesWhatOtherMachinesLack) {
  const test::CacheHome cache;
  const auto storage = std::make_shared<test::FakeStorage>();
  storage->files["s3://b/arrays/train_images.npy"] = "x";
  NpyConfig config;
  config.path = "s3://b/arrays";
  EXPECT_THAT([&] { open(config, Split::kVal, storage); },
              ThrowsMessage<base::DataError>(HasSubstr("val_images.npy")));
}

}  // namespace
}  // namespace paceline::data
