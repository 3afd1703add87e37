#include "paceline/data/sources/ct/ct.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/data/loader/sample_maker.h"
#include "support/data/cache_home.h"
#include "support/data/ct_files.h"
#include "support/data/fake_storage.h"
#include "support/data/same_samples.h"

#include <array>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
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

TEST_F(CtTest, AScanThatIsTrainedOnAndEvaluatedIsRefused) {
  const auto plan = make(config_);
  const std::array both{Split::kTrain, Split::kVal};
  EXPECT_NO_THROW(plan->check_samples(both, local_storage(), {}));
  // Its patients of val are those of train here, as by another seed and so by other codes.
  paceline::test::CtFiles other = files_;
  other.val = other.test = 0;
  other.write(folder_, "other");
  std::filesystem::rename(folder_.path() / "other/train", folder_.path() / "other/val");
  const std::string manifest = base::read_file(folder_.path() / "other/ct_manifest.json");
  folder_.write("other/ct_manifest.json", std::regex_replace(manifest, std::regex("train"), "val"));
  const std::string place = (folder_.path() / "other").string();
  EXPECT_THAT([&] { plan->check_samples(both, local_storage(), place); },
              ThrowsMessage<base::DataError>(HasSubstr("have the same scan")));
  EXPECT_NO_THROW(plan->check_samples(std::span(both).first(1), local_storage(), place));
}

TEST_F(CtTest, WhereNothingIsCachedItIsTold) {
  const paceline::test::CacheHome cache;
  std::string lines;
  const base::LogRedirection log(
      [&](base::LogLevel, std::string_view line) { lines += std::string(line) + "\n"; });
  const std::array both{Split::kTrain, Split::kVal};
  config_.cache_in_memory = "1GiB";
  make(config_)->check_samples(both, local_storage(), {});
  EXPECT_EQ(lines, "");
  config_.augment.turn_degrees = 5;
  make(config_)->check_samples(both, local_storage(), {});
  EXPECT_THAT(lines, AllOf(HasSubstr("ct/train is kept: data.augment"), Not(HasSubstr("val"))));
  lines.clear();
  config_.augment = {};
  config_.validate_alignment = false;
  files_.write_xrays(folder_, "train", 3, 8);
  make(config_)->check_samples(std::span(both).first(1), local_storage(), {});
  EXPECT_THAT(lines, HasSubstr("ct/train is kept: volumes and X-rays are files"));
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
