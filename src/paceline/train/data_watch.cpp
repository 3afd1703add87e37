#include "paceline/train/data_watch.h"

#include "paceline/base/json.h"
#include "paceline/base/log.h"
#include "paceline/data/loader_rate.h"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::train {

void DataWatch::add_step(const metrics::PhaseTimer& phases) {
  wait_s_ += phases.seconds(metrics::Phase::kDataWait);
  for (std::size_t phase = 0; phase < metrics::kNumPhases; ++phase)
    total_s_ += phases.seconds(static_cast<metrics::Phase>(phase));
  ++num_steps_;
}

double DataWatch::report(comm::Communicator& communicator) {
  const data::StageTimes stages = loader_.counts().stages;
  const nlohmann::json own{
      {"share", total_s_ > 0 ? wait_s_ / total_s_ : 0.0},
      {"limit", static_cast<int>(data::limiting_stage(stages - stages_before_))}};
  stages_before_ = stages;
  std::vector<double> shares;
  std::vector<data::LoaderStage> limits;
  for (const std::string& text : communicator.all_gather_text(own.dump())) {
    const nlohmann::json told = base::parse_json(text);
    shares.push_back(told.at("share"));
    limits.push_back(static_cast<data::LoaderStage>(told.at("limit").get<int>()));
  }
  const auto [least, most] = std::ranges::minmax_element(shares);
  if (*most > kTolerableShare && num_steps_ >= kFewestSteps && communicator.rank() == 0) {
    const auto rank = most - shares.begin();
    const data::LoaderStage limit = limits[static_cast<std::size_t>(rank)];
    base::log_warning(
        "rank {} waited for data {:.0f} % of the last {} steps' time (the least of all ranks: "
        "{:.0f} "
        "%); {} limits its loader: {}",
        rank, 100 * *most, num_steps_, 100 * *least, data::name_of(limit), data::cure_of(limit));
  }
  wait_s_ = total_s_ = 0;
  num_steps_ = 0;
  return *most;
}

}  // namespace paceline::train
