// Against torch.optim; see make_golden.py.

#include "paceline/optim/adamw.h"
#include "paceline/optim/sgd.h"
#include "paceline/tensor/aten.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::optim {
namespace {

using Json = nlohmann::json;

const std::vector<std::vector<std::int64_t>> kShapes{{5, 3}, {7}, {2, 2, 3, 3}};
constexpr double kLr = 0.1;

at::Tensor wave(const std::vector<std::int64_t>& shape, double phase, at::ScalarType dtype) {
  at::Tensor values = at::empty(shape, at::kDouble);
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    values.view(-1)[i] = std::sin(0.37 * static_cast<double>(i + 1) + phase);
  }
  return values.to(dtype);
}

std::unique_ptr<Optimizer> build(const Json& golden, std::vector<ParamGroup> groups) {
  const Json& options = golden.at("options");
  if (golden.at("name") == "sgd") {
    return make_optimizer(SgdConfig{.momentum = options.at("momentum"),
                                    .dampening = options.value("dampening", 0.0),
                                    .nesterov = options.value("nesterov", false)},
                          std::move(groups));
  }
  return make_optimizer(AdamWConfig{.beta1 = options.at("betas").at(0),
                                    .beta2 = options.at("betas").at(1),
                                    .eps = options.at("eps")},
                        std::move(groups));
}

void expect_equal(const at::Tensor& actual, const Json& expected, const std::string& what) {
  const double tolerance = actual.scalar_type() == at::kDouble ? 1e-12 : 2e-6;
  const at::Tensor flat = actual.to(at::kDouble).contiguous().view(-1);
  ASSERT_EQ(flat.numel(), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const double value = expected.at(static_cast<std::size_t>(i));
    EXPECT_NEAR(flat[i].item<double>(), value, tolerance * std::max(1.0, std::abs(value))) << what;
  }
}

TEST(OptimizerGolden, TenStepsAsTorchOptim) {
  const Json cases = Json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/optimizers.json"));
  ASSERT_EQ(cases.size(), 12U);
  for (const Json& golden : cases) {
    const std::string what = golden.at("name").get<std::string>() + golden.at("options").dump() +
                             golden.at("dtype").get<std::string>();
    const auto dtype = golden.at("dtype") == "float64" ? at::kDouble : at::kFloat;
    std::vector<ParamSlot> slots;
    for (std::size_t p = 0; p < kShapes.size(); ++p) {
      at::Tensor param = wave(kShapes[p], 10.0 * static_cast<double>(p), dtype);
      if (param.dim() == 4) param = param.contiguous(at::MemoryFormat::ChannelsLast);
      slots.push_back({param, at::zeros_like(param)});
    }
    const double decay = golden.at("options").at("weight_decay");
    const auto optimizer =
        build(golden, {{.name = "decay", .weight_decay = decay, .slots = {slots[0], slots[2]}},
                       {.name = "no_decay", .slots = {slots[1]}}});
    for (int step = 0; step < 10; ++step) {
      for (std::size_t p = 0; p < slots.size(); ++p) {
        slots[p].grad.copy_(wave(kShapes[p], 10.0 * static_cast<double>(p) + step + 1, dtype));
      }
      optimizer->step(kLr / (step + 1));
    }
    for (std::size_t p = 0; p < slots.size(); ++p) {
      expect_equal(slots[p].param, golden.at("params").at(p), what);
    }
    const std::vector<std::size_t> order{0, 2, 1};  // of slots over groups
    const std::vector<SlotState> states = optimizer->state();
    EXPECT_EQ(states.size(), golden.at("state").size()) << what;
    for (const SlotState& state : states) {
      for (std::size_t i = 0; i < order.size(); ++i) {
        expect_equal(state.tensors[i], golden.at("state").at(state.name).at(order[i]), what);
      }
    }
  }
}

}  // namespace
}  // namespace paceline::optim
