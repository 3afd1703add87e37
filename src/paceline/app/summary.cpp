#include "paceline/app/summary.h"

#include "paceline/base/version.h"
#include "paceline/checkpoint/environment.h"

#include <nlohmann/json.hpp>
#include <sys/resource.h>

namespace paceline::app {
namespace {

std::string_view reason_name(train::FitResult::Reason reason) {
  switch (reason) {
    case train::FitResult::Reason::kDuration:
      return "duration";
    case train::FitResult::Reason::kWallClock:
      return "wall_clock";
    case train::FitResult::Reason::kCondition:
      return "stop_when";
    case train::FitResult::Reason::kCallback:
      return "callback";
    case train::FitResult::Reason::kSignal:
      return "signal";
  }
  return "unknown";
}

/// Of the last step.
nlohmann::json communication_of(const parallel::Strategy& strategy) {
  const parallel::CommunicationReport report = strategy.communication_report();
  nlohmann::json buckets = nlohmann::json::array();
  for (const parallel::BucketReport& bucket : report.buckets) {
    buckets.push_back({{"bytes", bucket.bytes},
                       {"filled_by", bucket.filled_by},
                       {"start_ms", 1e3 * bucket.start_s},
                       {"exposed_ms", 1e3 * bucket.exposed_s}});
  }
  return {{"backward_ms", 1e3 * report.backward_s}, {"buckets", std::move(buckets)}};
}

}  // namespace

std::uint64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

nlohmann::json summary_of(const Session& session, const train::FitResult& result,
                          const std::optional<checkpoint::Listed>& best) {
  const train::TrainState& state = session.state();
  const checkpoint::Environment environment = session.environment();
  const double elapsed_s = state.clock.elapsed_s;
  const auto samples = static_cast<double>(state.clock.samples);
  const std::string per_s = fmt::format("{}_per_s", word_for_samples(session.fields()));
  nlohmann::json summary = {
      {"ended_by", reason_name(result.reason)},
      {"ended_because", result.text},
      {"steps", state.clock.step},
      {"epochs", state.clock.epoch()},
      {"samples", state.clock.samples},
      {"elapsed_s", elapsed_s},
      {per_s, elapsed_s > 0 ? samples / elapsed_s : 0.0},
      {"speed",
       {{"steps", result.speed.num_steps},
        {per_s, result.speed.samples_per_s},
        {"data_wait_share", result.speed.data_wait_share},
        {"communication_share", result.speed.communication_share}}},
      {"metrics", state.last_eval},
      {"peak_resident_bytes_rank0", peak_resident_bytes()},
      {"skipped_samples", state.skipped.of_run},
      {"communication_rank0", communication_of(*state.strategy)},
      {"world_size", environment.world_size},
      {"threads_per_rank", environment.threads_per_rank},
      {"device", environment.device},
      {"instruction_set", environment.instruction_set},
      {"versions", {{"paceline", base::kVersion}, {"libtorch", environment.libtorch}}}};
  if (best) {
    summary["best"] = {{"metric", best->monitored->name},
                       {"value", best->monitored->value},
                       {"step", best->step},
                       {"path", best->path.string()}};
  }
  for (const auto& [logger, values] : session.summaries()) summary[logger] = values;
  return summary;
}

}  // namespace paceline::app
