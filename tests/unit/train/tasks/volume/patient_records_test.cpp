#include "paceline/train/tasks/volume/patient_records.h"

#include "support/run_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::run_ranks;

TEST(PatientRecorder, HasEachPatientOnceInOrderOnAnyRanks) {
  const at::Tensor qualities = at::arange(6, at::kDouble).view({3, 2});
  for (const int ranks : {1, 3}) {  // of three the last has no patients
    run_ranks(ranks, [&](comm::Communicator& communicator) {
      PatientRecorder recorder({"psnr", "ssim"});
      const auto show = [&](std::int64_t row) {
        Batch batch;
        batch.size = 1;
        batch.indices = {10 * row};
        recorder.add({{std::string(PatientRecorder::kQualities), qualities.narrow(0, row, 1)}},
                     batch);
      };
      if (communicator.rank() == 0) show(2);
      if (communicator.rank() == ranks / 2) {
        show(1);
        show(0);
      }
      EXPECT_TRUE(recorder.finish(communicator).values.empty());
      const PatientRecords& records = recorder.records();
      EXPECT_THAT(records.names, ::testing::ElementsAre("psnr", "ssim"));
      EXPECT_TRUE(records.indices.equal(at::tensor({0, 10, 20}, at::kLong)));
      EXPECT_TRUE(records.values.equal(qualities)) << records.values;
    });
  }
}

}  // namespace
}  // namespace paceline::train
