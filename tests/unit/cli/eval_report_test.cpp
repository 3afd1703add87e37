#include "paceline/cli/eval_report.h"

#include "paceline/data/sources/image_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::cli {
namespace {

using ::testing::HasSubstr;

app::EvalReport report_of_three() {
  app::EvalReport report{.checkpoint = "run/checkpoints/step-2",
                         .step = 2,
                         .weights = "trained",
                         .class_names = {"cat", "dog"},
                         .result = {}};
  report.result = {.prefix = "val", .values = {{"val/top1", 0.5}}, .samples = 3};
  report.result.table = train::ClassTable{{{2, 1, 1}, {1, 2, 1}}, {}};
  report.samples = {at::tensor({0, 1, 2}, at::kLong), at::tensor({0, 0, 1}, at::kLong),
                    at::tensor({0.1, 2.5, 0.2}, at::kDouble),
                    at::tensor({0, 1, 1}, at::kLong).view({3, 1}),
                    at::tensor({0.9, 0.92, 0.8}, at::kDouble).view({3, 1})};
  report.part.dataset = data::open_image_files({"a.jpg", "b.jpg", "c.jpg"});
  return report;
}

TEST(EvalReport, TellsPeopleWhatWentWorst) {
  const std::string text = eval_report_text(report_of_three());
  EXPECT_THAT(text, HasSubstr("run/checkpoints/step-2 (step 2), 3 samples\n"));
  EXPECT_THAT(text, HasSubstr("  val/top1     0.5000\n"));
  EXPECT_THAT(text, HasSubstr("  cat          2     1.0000  0.5000  0.6667\n"));
  EXPECT_THAT(text, HasSubstr("  cat told as dog: 1\n"));
  EXPECT_THAT(text, HasSubstr("  2.5000  b.jpg: cat told as dog (0.9200)\n"));
}

TEST(EvalReport, TellsWhoseWeightsWereMeasured) {
  app::EvalReport report = report_of_three();
  EXPECT_EQ(nlohmann::json::parse(eval_report_json(report, {}))["weights"], "trained");
  report.weights = "ema";
  EXPECT_THAT(eval_report_text(report), HasSubstr("step-2 (step 2, weights of ema), 3 samples\n"));
  EXPECT_EQ(nlohmann::json::parse(eval_report_json(report, {}))["weights"], "ema");
  report.weights.clear();
  EXPECT_TRUE(nlohmann::json::parse(eval_report_json(report, {}))["weights"].is_null())
      << "exported weights are what they are";
}

TEST(EvalReport, TellsProgramsTheSame) {
  const std::vector<std::string> views{"flip"};
  const auto json = nlohmann::json::parse(eval_report_json(report_of_three(), views));
  EXPECT_EQ(json["metrics"]["val/top1"], 0.5);
  EXPECT_EQ(json["views"][0], "flip");
  EXPECT_EQ(json["classes"][0]["correct"], 1);
  EXPECT_TRUE(json["confusion_matrix"].is_null()) << "of classes without one";
  EXPECT_EQ(json["top_confusions"][0], nlohmann::json({{"label", 0}, {"told", 1}, {"samples", 1}}));
  EXPECT_EQ(json["worst_samples"][0]["sample"], "b.jpg");
  EXPECT_EQ(json["calibration"][13]["samples"], 2);
}

}  // namespace
}  // namespace paceline::cli
