#include "paceline/app/memory_fit.h"

#include "paceline/app/memory_report.h"
#include "paceline/app/phase_run.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "support/temp_folder.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class MemoryFitTest : public ::testing::Test {
 protected:
  /// Of the published recipe's phases; its data are not there.
  std::vector<MemoryFit> fits(const std::vector<std::string>& overrides, const MemoryDevice& device,
                              std::size_t num_phases = 1) const {
    const PhasedRecipe recipe =
        load_phases(std::filesystem::path(PACELINE_SOURCE_DIR) / "recipes/ct-cascade.yaml",
                    overrides, registries_->context(kRanks));
    std::vector<MemoryFit> found;
    for (const Phase& phase : recipe.phases) {
      if (found.size() == num_phases) break;
      const Recipe one = load_recipe(phase.recipe, *registries_, kRanks).recipe;
      found.push_back(
          fit_memory(one, *registries_, ask_about(one, *registries_, kRanks, kRanks), device));
      found.back().phase = phase.name;
    }
    return found;
  }

  static constexpr int kRanks = 4;
  std::unique_ptr<Registries> registries_ = make_registries();
};

TEST_F(MemoryFitTest, TheGuidesBatchesTakeFarLessThanItSays) {
  for (const MemoryFit& fit : fits({"train.precision=bf16"}, memory_device("a100-80gb"), 3)) {
    ASSERT_TRUE(fit.published.has_value());
    EXPECT_EQ(fit.need.batches.microbatch(), fit.published->batch_per_rank);
    EXPECT_EQ(fit.at_published_batch, fit.need.total());
    const double share = static_cast<double>(fit.at_published_batch) / fit.published->bytes;
    EXPECT_LE(share, fit.phase == "stage1" ? 0.65 : 0.5) << fit.phase;
    EXPECT_GE(fit.largest, fit.published->batch_per_rank);
    EXPECT_GT(fit.largest_again, fit.largest);
  }
}

TEST_F(MemoryFitTest, TheLargestBatchIsTheLastThatFits) {
  const std::vector<std::string> overrides{"train.precision=bf16"};
  const MemoryDevice& device = memory_device("a100-40gb");
  const MemoryFit first = fits(overrides, device).front();
  const auto needs = [&](std::int64_t samples) {
    auto more = overrides;
    more.push_back("++phases.stage1.data.batch_size_per_rank=" + std::to_string(samples));
    return fits(more, device).front().need.total();
  };
  EXPECT_LE(needs(first.largest), device.usable_bytes());
  EXPECT_GT(needs(first.largest + 1), device.usable_bytes());
}

TEST_F(MemoryFitTest, WhatDoesNotFitIsTold) {
  const MemoryDevice small{"small", (std::uint64_t{1} << 30) + 1};
  const MemoryFit last = fits({"train.precision=bf16"}, small).back();
  EXPECT_EQ(last.largest, 0);
  EXPECT_THAT(fit_tables({{last}}, small), Contains(HasSubstr("none")));
}

TEST(MemoryFitReport, HasTheGuidesFiguresBesideTheirs) {
  MemoryFit fit{.phase = "stage1", .per_sample = 1 << 20, .largest = 7, .forward_flops = 2e9};
  fit.published = train::PublishedTraining{"guide", 16, 15e9, 2, 1000, 4};
  fit.at_published_batch = 7'500'000'000;
  fit.samples_per_second = 3.5;
  const MemoryDevice device = memory_device("h200");
  const std::vector<std::string> lines = fit_tables({{fit}}, device);
  EXPECT_THAT(lines, Contains(::testing::AllOf(HasSubstr("15.0 GB"), HasSubstr("7.5 GB"),
                                               HasSubstr("2.08"), HasSubstr("3.50"))));
  const auto json = nlohmann::json::parse(fit_json({{fit}}, device));
  const auto& row = json.at("phases").at(0);
  EXPECT_EQ(json.at("device").at("name"), "h200");
  EXPECT_EQ(row.at("phase"), "stage1");
  EXPECT_EQ(row.at("largest_microbatch"), 7);
  EXPECT_EQ(row.at("backward_flops_per_sample"), 4e9);
  EXPECT_EQ(row.at("published").at("predicted_bytes"), 7'500'000'000);
  EXPECT_EQ(row.at("measured_samples_per_s_and_rank"), 3.5);
}

TEST(MemoryFitReport, AnUnknownDeviceIsRefusedWithTheKnown) {
  try {
    memory_device("h100");
    FAIL();
  } catch (const base::ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("h100-80gb"));
  }
}

TEST(MeasuredSpeed, IsOfThePhasesSummary) {
  const test::TempFolder folder;
  EXPECT_EQ(measured_speed(folder.path(), "stage2"), std::nullopt);
  std::filesystem::create_directories(folder.path() / "phases/2-stage2");
  folder.write("phases/2-stage2/summary.json",
               R"({"world_size": 4, "speed": {"steps": 9, "samples_per_s": 10.0}})");
  EXPECT_EQ(measured_speed(folder.path(), "stage2"), 2.5);
}

}  // namespace
}  // namespace paceline::app
