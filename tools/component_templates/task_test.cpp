#include "paceline/base/error.h"
#include "paceline/train/tasks/new_part.h"

#include <gtest/gtest.h>

namespace paceline::train {
namespace {

TEST(NewPart, CountsWhatIsRight) {
  NewPart task({}, nullptr, nullptr);
  Batch batch;
  batch.fields.set(kLabels, at::tensor({1, 0, 1}, at::kLong));
  const at::Tensor scores = at::tensor({0.0, 1.0, 2.0, 1.0, 5.0, 3.0}).view({3, 2});
  EXPECT_TRUE(task.sums({{"scores", scores}}, batch).equal(at::tensor({2.0}, at::kDouble)));
  EXPECT_EQ(task.num_sums(), 1);
}

TEST(NewPart, NeedsLabels) {
  NewPart task({}, nullptr, nullptr);
  EXPECT_THROW(task.check_samples({.sizes = {{"images", {3, 8, 8}}}}), base::ConfigError);
}

}  // namespace
}  // namespace paceline::train
