#include "paceline/cli/patient_report.h"

#include "paceline/data/sources/image_files.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::cli {
namespace {

using ::testing::HasSubstr;

/// Two patients, two stages, and means of samples.
app::EvalReport report_of_two() {
  app::EvalReport report;
  report.result.prefix = "val";
  train::PatientRecords records;
  for (const char* const end : {"", "_mean", "_stage1", "_mean_stage1"}) {
    for (const char* const quality : {"psnr", "projection_error"})
      records.names.push_back(std::string(quality) + end);
  }
  records.indices = at::tensor({0, 1}, at::kLong);
  records.values = at::arange(16, at::kDouble).view({2, 8});
  for (std::size_t i = 0; i < 8; ++i)
    report.result.values["val/" + records.names[i]] = 0.5 + static_cast<double>(i);
  report.patients = records;
  report.part.dataset = data::open_image_files({"a.jpg", "b.jpg"});
  return report;
}

TEST(PatientReport, TellsPeopleOfEachPatientByStage) {
  const app::EvalReport report = report_of_two();
  const std::string text = patient_report_text(report);
  EXPECT_THAT(text, HasSubstr("stage  volume        psnr  projection\n"));
  const std::string second = report.part.dataset->name(1);
  EXPECT_THAT(text,
              HasSubstr(fmt::format("  {:<7}      2  sample      8.0000      9.0000\n", second)));
  EXPECT_THAT(text,
              HasSubstr(fmt::format("  {:<7}      2  mean       10.0000     11.0000\n", second)));
  EXPECT_THAT(text,
              HasSubstr(fmt::format("  {:<7}      1  mean       14.0000     15.0000\n", second)));
  EXPECT_THAT(text,
              HasSubstr(fmt::format("  {:<7}      1  sample      4.5000      5.5000\n", "all")));
}

TEST(PatientReport, TellsProgramsTheSame) {
  const app::EvalReport report = report_of_two();
  const nlohmann::json json = patient_report_json(report);
  ASSERT_EQ(json.size(), 2);
  EXPECT_EQ(json[1]["patient"], report.part.dataset->name(1));
  EXPECT_EQ(json[1]["psnr_mean"], 10);
  EXPECT_EQ(json[1]["projection_error_mean_stage1"], 15);
}

}  // namespace
}  // namespace paceline::cli
