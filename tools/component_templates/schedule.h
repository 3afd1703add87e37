#pragma once

#include "paceline/config/schema.h"
#include "paceline/optim/schedule.h"

#include <memory>
#include <string_view>
#include <tuple>

namespace paceline::optim {

/// 1 / (1 + decay * s) at step s: say here which law it is, and name the paper.
struct NewPartConfig {
  double decay = 0.01;
};

std::unique_ptr<Schedule> make(const NewPartConfig& config, const RunLength& length);

}  // namespace paceline::optim

template <>
struct paceline::config::Schema<paceline::optim::NewPartConfig> {
  using Config = optim::NewPartConfig;
  static constexpr std::string_view name = "new_part";
  static constexpr std::string_view summary = "Says in one sentence how the learning rate runs.";
  static constexpr auto fields =
      std::tuple{field(&Config::decay, "decay", "How fast it falls.", AtLeast{0},
                       AtMost{1000, "no learning rate is left"})};
};
