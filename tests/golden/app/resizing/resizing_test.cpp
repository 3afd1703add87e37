// Against Composer's ProgressiveResizing and ffcv-imagenet's ramp; see make_resizing.py.

#include "paceline/app/recipe/progressive_resizing.h"
#include "support/parity.h"

#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::app {
namespace {

using config::TimeUnit;

void expect_sizes(const char* law, const ProgressiveResizing& config, int image_size,
                  const config::StepLengths& lengths, const nlohmann::json& wanted,
                  std::int64_t steps_each) {
  const auto changes = size_changes(config, image_size, lengths);
  std::size_t at = 0;
  for (std::int64_t step = 0; step < lengths.total_steps; ++step) {
    while (at + 1 < changes.size() && changes[at + 1].first_step <= step) ++at;
    test::expect_reference("progressive_resizing", law, changes[at].size,
                           wanted[static_cast<std::size_t>(step / steps_each)].get<int>(), 0);
  }
}

TEST(GoldenResizing, SizesAreComposersAndFfcvs) {
  const auto golden =
      nlohmann::json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/resizing/resizing.json"));
  for (const auto& each : golden["composer"]) {
    SCOPED_TRACE(each["width"].dump());
    const double finetune = each["finetune"];
    expect_sizes("sizes by Composer's law",
                 {.start_size = each["start"].get<double>(),
                  .begin = {each["delay"], TimeUnit::kFraction},
                  .end = {1 - finetune, TimeUnit::kFraction},
                  .increment = each["increment"],
                  .law = ResizingLaw::kComposer},
                 each["width"],
                 {.total_steps = each["steps"], .steps_per_epoch = 10, .samples_per_step = 8},
                 each["sizes"], 1);
  }
  for (const auto& each : golden["ffcv"]) {
    constexpr std::int64_t kStepsPerEpoch = 5;
    const std::int64_t epochs = each["epochs"];
    expect_sizes("sizes by FFCV's law",
                 {.start_size = each["start"].get<int>(),
                  .begin = {each["begin"], TimeUnit::kEpoch},
                  .end = {each["end"], TimeUnit::kEpoch},
                  .law = ResizingLaw::kFfcv},
                 each["width"],
                 {.total_steps = epochs * kStepsPerEpoch,
                  .steps_per_epoch = kStepsPerEpoch,
                  .samples_per_step = 8},
                 each["sizes"], kStepsPerEpoch);
  }
}

}  // namespace
}  // namespace paceline::app
