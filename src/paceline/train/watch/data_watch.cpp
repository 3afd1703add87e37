#include "paceline/train/watch/data_watch.h"

#include "paceline/base/json.h"
#include "paceline/base/log.h"
#include "paceline/data/loader/loader_stage.h"

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace paceline::train {

void DataWatch::add_step(const metrics::PhaseTimer& phases) {
  wait_s_ += phases.seconds(metrics::Phase::kDataWait);
  total_s_ += phases.total_seconds();
  ++num_steps_;
}

double DataWatch::report(comm::Communicator& communicator) {
  const data::LoaderCounts counts = loader_.counts();
  const std::int64_t skipped = counts.skipped_samples - counts_before_.skipped_samples;
  const nlohmann::json own{
      {"share", total_s_ > 0 ? wait_s_ / total_s_ : 0.0},
      {"limit", static_cast<int>(data::limiting_stage(counts.stages - counts_before_.stages))},
      {"skipped", skipped},
      {"last_skipped", skipped > 0 ? counts.last_skipped : ""}};
  counts_before_ = counts;
  std::vector<double> shares;
  std::vector<data::LoaderStage> limits;
  std::int64_t all_skipped = 0;
  std::string last_skipped;
  for (const std::string& text : communicator.all_gather_text(
           own.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace))) {
    const nlohmann::json told = base::parse_json(text);
    shares.push_back(told.at("share"));
    limits.push_back(static_cast<data::LoaderStage>(told.at("limit").get<int>()));
    all_skipped += told.at("skipped").get<std::int64_t>();
    const std::string last = told.at("last_skipped");
    if (!last.empty()) last_skipped = last;
  }
  if (all_skipped > 0 && communicator.rank() == 0)
    base::log_warning("{} samples could not be read and were replaced; the last was {}",
                      all_skipped, last_skipped);
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
