#include "paceline/app/speed_advice.h"

#include "paceline/app/assembly/model_assembly.h"
#include "paceline/base/text.h"
#include "paceline/data/loader/loader_stage.h"
#include "paceline/train/watch/data_watch.h"

#include <cmath>

namespace paceline::app {
namespace {

/// Of training that tell what limits it.
constexpr double kFewestSeconds = 5;
constexpr double kTolerableShare = train::DataWatch::kTolerableShare;

std::string advice_on_data(const train::SpeedReport& speed) {
  return fmt::format("{} limits the loader: {}", data::name_of(speed.loader_limit),
                     data::cure_of(speed.loader_limit));
}

std::string advice_on_communication(const Recipe& recipe,
                                    std::span<const std::string> late_parameters) {
  if (!late_parameters.empty()) {
    return fmt::format("put {}, whose gradients come late, into parallel.ddp.bucket_order",
                       base::join_first(late_parameters, 3));
  }
  if (gathers_blocks(recipe.parallel.strategy))
    return "parallel.strategy=zero1 or ddp sends less, where the memory allows it (`paceline info "
           "memory`)";
  const bool is_ddp = recipe.parallel.strategy == ParallelStrategy::kAuto ||
                      recipe.parallel.strategy == ParallelStrategy::kDdp;
  if (is_ddp && !recipe.parallel.ddp.compression)
    return "parallel.ddp.compression=bf16 sends half as much, and a larger data.global_batch_size "
           "with train.grad_accum_steps sends less often; both change the numbers";
  return "a larger data.global_batch_size with train.grad_accum_steps sends less often, which "
         "changes the numbers";
}

std::string advice_on_computing(const Recipe& recipe, const tensor::Device& device) {
  const auto fastest = train::choose_precision(train::Precision::kAuto, device.place().type());
  const bool is_full = recipe.train.precision == train::Precision::kFloat32 ||
                       recipe.train.precision == train::Precision::kFloat64;
  if (is_full && fastest.precision != train::Precision::kFloat32)
    return fmt::format("train.precision={} is faster for all but small models: {}",
                       config::enum_name(fastest.precision), fastest.reason);
  if (!recipe.train.channels_last) return "train.channels_last=true is faster for convolutions";
  if (recipe.train.activation_checkpointing)
    return "train.activation_checkpointing=null computes nothing twice, where the memory allows it";
  return {};
}

std::string advice_on(const train::SpeedReport& speed, const Recipe& recipe,
                      std::span<const std::string> late_parameters, const tensor::Device& device) {
  const bool waits_more_for_data = speed.data_wait_share >= speed.communication_share;
  if (waits_more_for_data && speed.data_wait_share > kTolerableShare) return advice_on_data(speed);
  if (!waits_more_for_data && speed.communication_share > kTolerableShare)
    return advice_on_communication(recipe, late_parameters);
  return advice_on_computing(recipe, device);
}

}  // namespace

std::vector<std::string> describe_speed(const train::SpeedReport& speed, const Recipe& recipe,
                                        std::string_view samples,
                                        std::span<const std::string> late_parameters,
                                        const tensor::Device& device) {
  if (speed.num_steps == 0) return {};
  std::vector<std::string> lines{
      fmt::format("speed: {} {}/s in training, {:.0f} % of the time waiting for data, {:.0f} % for "
                  "communication",
                  base::format_count(std::llround(speed.samples_per_s)), samples,
                  100 * speed.data_wait_share, 100 * speed.communication_share)};
  if (speed.seconds < kFewestSeconds) return lines;  // of which most was spent on beginning
  if (std::string advice = advice_on(speed, recipe, late_parameters, device); !advice.empty())
    lines.push_back("to go faster: " + std::move(advice));
  return lines;
}

}  // namespace paceline::app
