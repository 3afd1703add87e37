#include "paceline/data/sources/ct/ct.h"

#include "paceline/base/error.h"
#include "paceline/data/loader/sample_maker.h"
#include "support/data/cache_home.h"
#include "support/data/ct_files.h"
#include "support/data/fake_storage.h"
#include "support/data/same_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class CtTest : public ::testing::Test {
 protected:
  CtTest() {
    files_.write(folder_);
    config_ = {.path = (folder_.path() / "ct").string(), .side = 4, .xray_size = 8};
  }

  paceline::test::TempFolder folder_;
  paceline::test::CtFiles files_;
  CtConfig config_;
};

TEST_F(CtTest, EvaluationsSeeThePatientsOfTheirFolder) {
  EXPECT_EQ(open(config_, Split::kTrain)->size(), 3);
  EXPECT_EQ(open(config_, Split::kVal)->name(0), "val000000000000");
  config_.val_folder = CtEvaluation::kTest;
  EXPECT_EQ(open(config_, Split::kVal)->name(0), "test000000000000");
  EXPECT_EQ(open(config_, Split::kTrain)->name(0), "train000000000000");
}

TEST_F(CtTest, ThePlanMakesSamplesOfWhatItOpens) {
  const auto plan = make(config_);
  const auto dataset = plan->open(Split::kTrain, local_storage(), {});
  const auto maker = plan->make_samples(*dataset, Split::kTrain);
  EXPECT_EQ(maker->fields()[0].sizes, (std::vector<std::int64_t>{4, 4, 4}));
  EXPECT_EQ(maker->fields()[1].sizes, (std::vector<std::int64_t>{2, 8, 8}));
}

TEST_F(CtTest, OnlyTrainingIsWithoutStoredXraysWherePatientsAreMoved) {
  config_.augment.turn_degrees = 5;
  EXPECT_EQ(open(config_, Split::kTrain)->stored_fields().size(), 2u);
  EXPECT_EQ(open(config_, Split::kVal)->stored_fields().size(), 3u);
  const auto plan = make(config_);
  for (const Split split : {Split::kTrain, Split::kVal}) {
    const auto dataset = plan->open(split, local_storage(), {});
    EXPECT_EQ(plan->make_samples(*dataset, split)->fields()[1].sizes,
              (std::vector<std::int64_t>{2, 8, 8}));
  }
}

TEST_F(CtTest, ValidationMayLieElsewhere) {
  paceline::test::CtFiles other = files_;
  other.val = 1;
  other.write(folder_, "other");
  const auto plan = make(config_);
  const std::string place = (folder_.path() / "other").string();
  EXPECT_EQ(plan->open(Split::kVal, local_storage(), place)->size(), 1);
  EXPECT_EQ(plan->open(Split::kTrain, local_storage(), place)->size(), 3);
  EXPECT_THAT([&] { plan->open(Split::kVal, local_storage(), place + "-absent"); },
              ThrowsMessage<base::DataError>(HasSubstr("data.val_path")));
}

TEST_F(CtTest, NeedsAPath) {
  config_.path.clear();
  EXPECT_THAT([&] { make(config_)->check_place(); },
              ThrowsMessage<base::ConfigError>(HasSubstr("data.path")));
}

TEST_F(CtTest, ThoseOfAnotherMachineAreCopied) {
  const paceline::test::CacheHome cache;
  for (const char* split : {"train", "val"})
    files_.write_xrays(folder_, split, split[0] == 't' ? 3 : 2, 8);
  const auto storage = paceline::test::copy_of(folder_.path() / "ct", "s3://b/set");
  CtConfig remote = config_;
  remote.path = "s3://b/set";
  const auto there = open(remote, Split::kVal, storage);
  EXPECT_TRUE(there->has_xray_files());
  paceline::test::expect_same_samples(*there, *open(config_, Split::kVal));
  remote.side.reset();
  EXPECT_THAT([&] { open(remote, Split::kVal, storage); },
              ThrowsMessage<base::ConfigError>(HasSubstr("data.side: name it")));
}

}  // namespace
}  // namespace paceline::data
