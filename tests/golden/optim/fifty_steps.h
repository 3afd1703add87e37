#pragma once

// What tests of optimizers beside their references have in common.

#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/optim/adafactor.h"
#include "paceline/optim/adam.h"
#include "paceline/optim/decoupled.h"
#include "paceline/optim/layerwise/lamb.h"
#include "paceline/optim/layerwise/lars.h"
#include "paceline/optim/lion.h"
#include "paceline/optim/muon.h"
#include "paceline/optim/nadam.h"
#include "paceline/optim/radam.h"
#include "paceline/optim/rmsprop.h"
#include "paceline/optim/sgd.h"
#include "paceline/tensor/aten.h"
#include "support/parity.h"

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <span>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::optim::fifty_steps {

using Json = nlohmann::json;

inline const std::vector<std::vector<std::int64_t>> kShapes{{5, 3}, {7}, {2, 2, 3, 3}};
inline constexpr double kLr = 0.1;

inline at::Tensor wave(const std::vector<std::int64_t>& shape, double phase, at::ScalarType dtype) {
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
  own["lr"] = kLr;            // where it starts
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

inline std::unique_ptr<Optimizer> build(const Json& golden, std::vector<ParamGroup> groups) {
  using Build = std::unique_ptr<Optimizer> (*)(const Json&, std::vector<ParamGroup>);
  const std::map<std::string, Build> builds{
      {"sgd", build_as<SgdConfig>},
      {"adam", build_as<AdamConfig>},
      {"adamw", build_as<AdamWConfig>},
      {"decoupled_sgdw", build_as<DecoupledSgdwConfig>},
      {"decoupled_adamw", build_as<DecoupledAdamWConfig>},
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

inline void expect_equal(const std::string& component, const at::Tensor& actual,
                         const Json& expected, const std::string& what) {
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

inline std::vector<ParamSlot> first_slots(at::ScalarType dtype) {
  std::vector<ParamSlot> slots;
  for (std::size_t p = 0; p < kShapes.size(); ++p) {
    at::Tensor param = wave(kShapes[p], 10.0 * static_cast<double>(p), dtype);
    if (param.dim() == 4) param = param.contiguous(at::MemoryFormat::ChannelsLast);
    slots.push_back({param, at::zeros_like(param)});
  }
  return slots;
}

inline void take_fifty_steps(Optimizer& optimizer, std::span<const ParamSlot> slots,
                             bool is_cycled) {
  for (int step = 0; step < 50; ++step) {
    for (std::size_t p = 0; p < slots.size(); ++p) {
      const double phase = 10.0 * static_cast<double>(p) + step + 1;
      slots[p].grad.copy_(wave(kShapes[p], phase, slots[p].param.scalar_type()));
    }
    if (is_cycled) {
      ASSERT_TRUE(optimizer.set_momentum(0.9 - 0.05 * std::sin(step)));
    }
    optimizer.step(kLr / (step + 1));
  }
}

inline void expect_as_reference(const Json& golden) {
  const std::string name = golden.at("name");
  const std::string dtype = golden.at("dtype");
  const Json& options = golden.at("options");
  const std::string what = name + options.dump() + dtype;
  const std::string component = name + ", " + dtype;
  SCOPED_TRACE(what);
  const std::vector<ParamSlot> slots = first_slots(dtype == "float64" ? at::kDouble : at::kFloat);
  const auto optimizer = build(golden, {{.name = "decay",
                                         .weight_decay = options.at("weight_decay"),
                                         .slots = {slots[0], slots[2]},
                                         .is_matrix = true},
                                        {.name = "no_decay", .slots = {slots[1]}}});
  take_fifty_steps(*optimizer, slots, options.contains("cycled"));
  for (std::size_t p = 0; p < slots.size(); ++p)
    expect_equal(component, slots[p].param, golden.at("params").at(p), what);
  const std::vector<SlotState> states = optimizer->state();
  const std::vector<ParameterState> of_parameters = optimizer->parameter_state();
  EXPECT_EQ(states.size() + of_parameters.size(), golden.at("state").size());
  const auto expect_state = [&](const auto& state) {
    for (std::size_t i = 0; i < slots.size(); ++i) {
      constexpr std::array<std::size_t, 3> kOrder{0, 2, 1};  // of slots over groups
      const Json& expected = golden.at("state").at(state.name).at(kOrder[i]);
      EXPECT_EQ(state.tensors[i].defined(), !expected.is_null());
      if (state.tensors[i].defined()) expect_equal(component, state.tensors[i], expected, what);
    }
  };
  for (const ParameterState& state : of_parameters) expect_state(state);
  for (const SlotState& state : states) expect_state(state);
}

/// Of a file of tests/golden/optim.
inline void expect_as_references(const std::string& file, std::size_t num_cases) {
  const Json cases = Json::parse(std::ifstream(PACELINE_GOLDEN_DIR "/" + file));
  ASSERT_EQ(cases.size(), num_cases);
  for (const Json& golden : cases) expect_as_reference(golden);
}

}  // namespace paceline::optim::fifty_steps
