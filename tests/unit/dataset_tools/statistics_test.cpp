#include "paceline/dataset_tools/statistics.h"

#include "paceline/data/sources/image_folder.h"
#include "support/data/scarce_memory.h"
#include "support/data/test_images.h"
#include "support/temp_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::dataset_tools {
namespace {

using paceline::test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(Distribution, HasItsLandmarks) {
  std::vector<double> values;
  for (int i = 100; i >= 0; --i) values.push_back(i);
  const Distribution of_all = distribution_of(values);
  EXPECT_EQ(of_all.smallest, 0);
  EXPECT_EQ(of_all.p10, 10);
  EXPECT_EQ(of_all.median, 50);
  EXPECT_EQ(of_all.mean, 50);
  EXPECT_EQ(of_all.p90, 90);
  EXPECT_EQ(of_all.largest, 100);
  EXPECT_EQ(distribution_of({7}).median, 7);
  EXPECT_EQ(distribution_of({}).largest, 0);
}

class StatisticsTest : public ::testing::Test {
 protected:
  void add(const std::string& image, const std::string& place) {
    const std::vector<std::uint8_t> bytes = data::golden_image(image);
    folder_.write("train/" + place, {bytes.begin(), bytes.end()});
  }
  TempFolder folder_;
};

TEST_F(StatisticsTest, CountsClassesAndFormats) {
  const std::filesystem::path images =
      std::filesystem::path(PACELINE_SOURCE_DIR) / "tests/golden/data/transforms/images";
  std::string jpeg;
  std::string png;
  for (const auto& entry : std::filesystem::directory_iterator(images)) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".jpg") && (jpeg.empty() || name < jpeg)) jpeg = name;
    if (name.ends_with(".png") && (png.empty() || name < png)) png = name;
  }
  add(jpeg, "a/1.jpg");
  add(png, "a/2.png");
  add(jpeg, "a/3.jpg");
  add(jpeg, "b/1.jpg");
  folder_.write("train/b/2.jpg", "no image");
  const auto dataset = data::open_image_folder(folder_.path(), "train", "train");
  const DatasetStatistics all = examine(*dataset, 0, 2, {});
  EXPECT_EQ(all.num_samples, 5);
  EXPECT_EQ(all.num_examined, 5);
  EXPECT_THAT(all.class_sizes, ElementsAre(3, 2));
  EXPECT_THAT(all.damaged, ElementsAre(HasSubstr("b/2.jpg")));
  EXPECT_THAT(all.formats, ElementsAre(Pair(HasSubstr("JPEG "), 3), Pair("PNG", 1)));
  EXPECT_EQ(all.size_bytes.largest, static_cast<double>(std::max(data::golden_image(jpeg).size(),
                                                                 data::golden_image(png).size())));
  EXPECT_GT(all.bits_per_pixel.median, 0);
  EXPECT_EQ(examine(*dataset, 2, 1, {}).num_examined, 2);
}

TEST_F(StatisticsTest, ASampleThatThereIsNoMemoryForIsDamaged) {
  add("progressive.jpg", "a/0.jpg");
  add("progressive.jpg", "a/1.jpg");
  const auto images = data::open_image_folder(folder_.path(), "train", "train");
  const paceline::test::ScarceMemory scarce(*images, 1);
  const DatasetStatistics statistics = examine(scarce, 0, 1, {});
  EXPECT_THAT(statistics.damaged, ElementsAre(HasSubstr("not enough memory")));
}

}  // namespace
}  // namespace paceline::dataset_tools
