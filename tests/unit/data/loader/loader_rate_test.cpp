#include "paceline/data/loader/loader_rate.h"

#include "paceline/data/sources/synthetic.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/random_resized_crop.h"

#include <gtest/gtest.h>

namespace paceline::data {
namespace {

TEST(MeasureLoader, CountsTheSamplesOfTheMeasurementAlone) {
  const SyntheticDataset dataset(100, 5, 16, 0);
  const TransformPipeline pipeline({RandomResizedCropConfig{.size = 16}});
  for (const int threads : {1, 2}) {
    const LoaderRate rate =
        measure_loader(dataset, make_images(pipeline), {.seed = 1, .num_threads = threads}, 128);
    EXPECT_EQ(rate.num_threads, threads);
    EXPECT_GE(rate.stages.samples, 128 - 32 * 3) << "some were read ahead while it warmed up";
    EXPECT_GT(rate.samples_per_s, 0);
    EXPECT_GT(rate.stages.read_s, 0);
    EXPECT_GT(rate.stages.transform_s, 0);
    EXPECT_EQ(rate.stages.decode_s, 0) << "these are pixels already";
  }
}

TEST(MeasureLoader, TakesDataSetsSmallerThanABatch) {
  const SyntheticDataset dataset(3, 2, 16, 0);
  EXPECT_GT(measure_loader(dataset, make_images(TransformPipeline({CenterCropConfig{16}})),
                           {.seed = 1}, 10)
                .samples_per_s,
            0);
}

}  // namespace
}  // namespace paceline::data
