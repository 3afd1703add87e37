// Against torch.amp.GradScaler; see make_golden.py.

#include "paceline/optim/grad_scaler.h"

#include "paceline/optim/sgd.h"
#include "paceline/tensor/aten.h"
#include "support/parity.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::optim {
namespace {

using Json = nlohmann::json;

at::Tensor wave(double phase) {
  at::Tensor values = at::empty({7}, at::kDouble);
  for (std::int64_t i = 0; i < 7; ++i) {
    values[i] = std::sin(0.37 * static_cast<double>(i + 1) + phase);
  }
  return values.to(at::kFloat);
}

void expect_case(const Json& golden) {
  const Json& options = golden.at("options");
  GradScaler scaler({.init_scale = options.at("init_scale"),
                     .growth_factor = options.at("growth_factor"),
                     .backoff_factor = options.at("backoff_factor"),
                     .growth_interval = options.at("growth_interval")});
  const ParamSlot slot{wave(0), at::zeros({7})};
  const auto sgd = make_optimizer(SgdConfig{}, {{.name = "all", .slots = {slot}}});
  const std::vector<int> overflows = golden.at("overflows");
  for (int step = 0; step < 32; ++step) {
    slot.grad.copy_(wave(step + 1) * scaler.scale());
    const bool overflows_now = std::ranges::find(overflows, step) != overflows.end();
    if (overflows_now) slot.grad[step % 7] = std::numeric_limits<float>::infinity();
    const at::Tensor found_inf = unscale(std::span(&slot.grad, 1), scaler.inverse_scale());
    ASSERT_EQ(found_inf.is_nonzero(), overflows_now);
    sgd->step(0.1, /*skip=*/found_inf);
    scaler.update(overflows_now);
    const auto number = static_cast<std::size_t>(step);
    ASSERT_EQ(scaler.scale(), golden.at("scales").at(number).get<double>()) << "step " << step;
    ASSERT_EQ(scaler.state_dict().at("growth_tracker"), golden.at("growth_trackers").at(number));
  }
  for (std::size_t i = 0; i < 7; ++i) {
    paceline::test::expect_reference("fp16 loss scaling, sgd", "parameters",
                                     slot.param[static_cast<std::int64_t>(i)].item<double>(),
                                     golden.at("params").at(i).get<double>(), 2e-6);
  }
}

TEST(GradScalerGolden, ScalesTrackersAndParametersAsTorch) {
  const Json cases = Json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/grad_scaler.json"));
  ASSERT_EQ(cases.size(), 3U);
  for (const Json& golden : cases) expect_case(golden);
}

}  // namespace
}  // namespace paceline::optim
