#include "paceline/train/tasks/volume/volume_sums.h"

#include "paceline/train/train_state.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

at::Tensor pair(double a, double b) { return at::tensor({a, b}, at::kDouble); }

TEST(VolumeSums, EachMetricHasItsOwnPlace) {
  const VolumeSums sums(2, /*has_means=*/true);
  at::Tensor all = sums.of_loss(pair(1, 2), pair(3, 4));
  double next = 10;
  std::map<std::string, double> expected{{"diffusion", 1.5}, {"physics", 3.5}};
  for (const std::int64_t stage : {0, 1}) {
    for (const bool is_mean : {false, true}) {
      const std::string end = std::string(is_mean ? "_mean" : "") + (stage == 0 ? "_stage1" : "");
      for (const std::string name : {"psnr", "ssim", "hu_mae", "projection_error"})
        expected[name + end] = next++;
      sums.add(stage, is_mean,
               {pair(next - 5, next - 3), pair(next - 4, next - 2), pair(next - 3, next - 1),
                pair(next - 2, next)},
               all);
    }
  }
  ASSERT_EQ(all.numel(), sums.count());
  Totals totals;
  totals.samples = 2;
  totals.sums = {all.data_ptr<double>(), all.data_ptr<double>() + all.numel()};
  std::map<std::string, double> values;
  for (const Metric& metric : sums.metrics()) values[metric.name] = totals.value(metric);
  EXPECT_EQ(values, expected);
}

TEST(VolumeSums, LooksAtTheLastStagesPsnrFirst) {
  EXPECT_EQ(VolumeSums(3, false).metrics().front().name, "psnr");
  EXPECT_EQ(VolumeSums(1, false).metrics().size(), 6U);
}

TEST(VolumeSums, NamesTheQualitiesOfEachPatient) {
  const std::vector<std::string> names = VolumeSums(2, /*has_means=*/true).quality_names();
  ASSERT_EQ(names.size(), 16U);
  EXPECT_EQ(names[1], "ssim");
  EXPECT_EQ(names[4], "psnr_mean");
  EXPECT_EQ(names[15], "projection_error_mean_stage1");
  EXPECT_EQ(VolumeSums(1, false).quality_names().size(), 4U);
}

}  // namespace
}  // namespace paceline::train
