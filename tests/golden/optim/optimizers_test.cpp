// Against torch.optim and timm; see make_golden.py.

#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/optim/adafactor.h"
#include "paceline/optim/adam.h"
#include "paceline/optim/lamb.h"
#include "paceline/optim/lars.h"
#include "paceline/optim/lion.h"
#include "paceline/optim/muon.h"
#include "paceline/optim/nadam.h"
#include "paceline/optim/radam.h"
#include "paceline/optim/rmsprop.h"
#include "paceline/optim/sgd.h"
#include "paceline/tensor/aten.h"
#include "support/parity.h"

#include <cmath>
#include <fstream>
#include <map>

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

/// An optimizer with the options of its reference, which has them under its own names.
template <class Config>
std::unique_ptr<Optimizer> build_as(const Json& options, std::vector<ParamGroup> groups) {
  Json own = options;
  own.erase("weight_decay");  // the groups'
  own.erase("cycled");        // the schedule's
  if (own.contains("betas")) {
    own["beta1"] = own["betas"][0];
    own["beta2"] = own["betas"][1];
    own.erase("betas");
  }
  if (own.contains("eps") && own["eps"].is_array()) {
    own["eps1"] = own["eps"][0];
    own["eps2"] = own["eps"][1];
    own.erase("eps");
  }
  if (own.contains("decoupled_weight_decay")) {
    own["decoupled_decay"] = own["decoupled_weight_decay"];
    own.erase("decoupled_weight_decay");
  }
  const std::map<std::string, std::string> names{{"ns_steps", "num_iterations"},
                                                 {"adjust_lr_fn", "adjust_lr"}};
  for (const auto& [theirs, ours] : names) {
    if (!own.contains(theirs)) continue;
    own[ours] = own[theirs];
    own.erase(theirs);
  }
  const auto config = config::bind<Config>(config::parse_yaml(own.dump(), "golden"), {});
  return make_optimizer(config, std::move(groups));
}

std::unique_ptr<Optimizer> build(const Json& golden, std::vector<ParamGroup> groups) {
  using Build = std::unique_ptr<Optimizer> (*)(const Json&, std::vector<ParamGroup>);
  const std::map<std::string, Build> builds{
      {"sgd", build_as<SgdConfig>},
      {"adam", build_as<AdamConfig>},
      {"adamw", build_as<AdamWConfig>},
      {"nadam", build_as<NAdamConfig>},
      {"nadamw", build_as<NAdamWConfig>},
      {"radam", build_as<RAdamConfig>},
      {"rmsprop", build_as<RmspropConfig>},
      {"rmsprop_tf", build_as<RmspropTfConfig>},
      {"lion", build_as<LionConfig>},
      {"lamb", build_as<LambConfig>},
      {"lars", build_as<LarsConfig>},
      {"muon", build_as<MuonConfig>},
      {"adafactor", build_as<AdafactorConfig>},
  };
  return builds.at(golden.at("name"))(golden.at("options"), std::move(groups));
}

void expect_equal(const std::string& component, const at::Tensor& actual, const Json& expected,
                  const std::string& what) {
  SCOPED_TRACE(what);
  const double tolerance = actual.scalar_type() == at::kDouble ? 1e-12 : 2e-6;
  const at::Tensor flat = actual.to(at::kDouble).contiguous().view(-1);
  ASSERT_EQ(flat.numel(), static_cast<std::int64_t>(expected.size()));
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const double value = expected.at(static_cast<std::size_t>(i));
    paceline::test::expect_reference(component, "parameters and state after 50 steps",
                                     flat[i].item<double>(), value, tolerance);
  }
}

TEST(OptimizerGolden, FiftyStepsAsTheReference) {
  const Json cases = Json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/optimizers.json"));
  ASSERT_EQ(cases.size(), 86U);
  for (const Json& golden : cases) {
    const std::string what = golden.at("name").get<std::string>() + golden.at("options").dump() +
                             golden.at("dtype").get<std::string>();
    const auto dtype = golden.at("dtype") == "float64" ? at::kDouble : at::kFloat;
    const std::string component =
        golden.at("name").get<std::string>() + ", " + golden.at("dtype").get<std::string>();
    std::vector<ParamSlot> slots;
    for (std::size_t p = 0; p < kShapes.size(); ++p) {
      at::Tensor param = wave(kShapes[p], 10.0 * static_cast<double>(p), dtype);
      if (param.dim() == 4) param = param.contiguous(at::MemoryFormat::ChannelsLast);
      slots.push_back({param, at::zeros_like(param)});
    }
    const double decay = golden.at("options").at("weight_decay");
    const auto optimizer = build(
        golden,
        {{.name = "decay", .weight_decay = decay, .slots = {slots[0], slots[2]}, .is_matrix = true},
         {.name = "no_decay", .slots = {slots[1]}}});
    for (int step = 0; step < 50; ++step) {
      for (std::size_t p = 0; p < slots.size(); ++p) {
        slots[p].grad.copy_(wave(kShapes[p], 10.0 * static_cast<double>(p) + step + 1, dtype));
      }
      if (golden.at("options").contains("cycled")) {
        ASSERT_TRUE(optimizer->set_momentum(0.9 - 0.05 * std::sin(step))) << what;
      }
      optimizer->step(kLr / (step + 1));
    }
    for (std::size_t p = 0; p < slots.size(); ++p) {
      expect_equal(component, slots[p].param, golden.at("params").at(p), what);
    }
    const std::vector<std::size_t> order{0, 2, 1};  // of slots over groups
    const std::vector<SlotState> states = optimizer->state();
    const std::vector<ParameterState> of_parameters = optimizer->parameter_state();
    EXPECT_EQ(states.size() + of_parameters.size(), golden.at("state").size()) << what;
    const auto expect_state = [&](const auto& state) {
      for (std::size_t i = 0; i < order.size(); ++i) {
        const Json& expected = golden.at("state").at(state.name).at(order[i]);
        EXPECT_EQ(state.tensors[i].defined(), !expected.is_null()) << what;
        if (state.tensors[i].defined()) expect_equal(component, state.tensors[i], expected, what);
      }
    };
    for (const ParameterState& state : of_parameters) expect_state(state);
    for (const SlotState& state : states) expect_state(state);
  }
}

}  // namespace
}  // namespace paceline::optim
