#include "paceline/train/watch/run_speed.h"

#include "paceline/base/json.h"

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

namespace paceline::train {

void RunSpeed::add_step(const metrics::PhaseTimer& phases, double samples) {
  if (++num_steps_ == 0) {
    stages_before_ = loader_.counts().stages;
    return;
  }
  samples_ += samples;
  total_s_ += phases.total_seconds();
  data_wait_s_ += phases.seconds(metrics::Phase::kDataWait);
  communication_s_ += phases.seconds(metrics::Phase::kExposedCommunication);
}

SpeedReport RunSpeed::report(comm::Communicator& communicator) const {
  const auto limit = data::limiting_stage(loader_.counts().stages - stages_before_);
  const nlohmann::json own{{"total_s", total_s_},
                           {"data_wait_s", data_wait_s_},
                           {"communication_s", communication_s_},
                           {"limit", static_cast<int>(limit)}};
  SpeedReport report;
  report.num_steps = std::max<std::int64_t>(0, num_steps_);
  double longest_s = 0;
  for (const std::string& text : communicator.all_gather_text(own.dump())) {
    const nlohmann::json told = base::parse_json(text);
    const double total_s = told.at("total_s");
    if (total_s <= 0) continue;
    longest_s = std::max(longest_s, total_s);
    const double data_wait_share = told.at("data_wait_s").get<double>() / total_s;
    if (data_wait_share >= report.data_wait_share) {
      report.data_wait_share = data_wait_share;
      report.loader_limit = static_cast<data::LoaderStage>(told.at("limit").get<int>());
    }
    report.communication_share =
        std::max(report.communication_share, told.at("communication_s").get<double>() / total_s);
  }
  report.seconds = longest_s;
  if (longest_s > 0) report.samples_per_s = samples_ / longest_s;
  return report;
}

}  // namespace paceline::train
