#include "paceline/train/tasks/measure_parts.h"

#include "paceline/comm/agreement.h"
#include "paceline/metrics/ranking.h"

#include <charconv>
#include <span>
#include <utility>

namespace paceline::train {

void MeasureOfParts::add(const tensor::Fields& outputs, const Batch& batch) {
  const Told told = read_(outputs, batch);
  for (const auto& part : parts_) part->add(told);
}

EvalMeasure::Measured MeasureOfParts::finish(comm::Communicator& communicator) {
  Measured measured;
  for (const auto& part : parts_) part->finish(communicator, measured);
  return measured;
}

at::Tensor SumsOverRanks::over_ranks(comm::Communicator& communicator, std::int64_t rows,
                                     at::ScalarType dtype) const {
  const std::int64_t numel =
      comm::max_over_ranks(communicator, sums_.defined() ? sums_.numel() : 0);
  const at::Tensor all = sums_.defined() ? sums_.to(at::kCPU).clone() : at::zeros({numel}, dtype);
  if (communicator.world_size() > 1)
    communicator.all_reduce(all.flatten(), comm::ReduceOp::kSum, "sums of an evaluation")->wait();
  return all.view({rows, numel / rows});
}

void Rankings::add(const Told& told) {
  scores_.add(probabilities_(told.logits), told.labels.defined() ? told.labels : told.wanted());
}

void Rankings::finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) {
  const metrics::RankingScores means = scores_.mean_over_classes(communicator);
  for (const std::string& name : names_)
    measured.values[name] = name == kAuroc ? means.auroc : means.average_precision;
}

std::optional<double> loss_percent(std::string_view name) {
  constexpr std::string_view kPrefix = "loss_p";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  double percent = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), percent);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return percent >= 0 && percent <= 100 ? std::optional(percent) : std::nullopt;
}

void LossPercentiles::add(const Told& told) {
  at::Tensor losses = loss_.per_sample(told.logits, told.targets).to(at::kCPU, at::kDouble);
  if (const at::Tensor counted = told.counted(); counted.defined())
    losses = losses.masked_select(counted.to(at::kCPU));
  losses_.push_back(std::move(losses));
}

void LossPercentiles::finish(comm::Communicator& communicator, EvalMeasure::Measured& measured) {
  losses_.push_back(at::empty({0}, at::kDouble));
  const at::Tensor all = std::get<0>(gather_values(communicator, at::cat(losses_)).sort());
  const std::span sorted(all.const_data_ptr<double>(), static_cast<std::size_t>(all.numel()));
  for (const std::string& name : names_)
    measured.values[name] = metrics::percentile(sorted, *loss_percent(name));
}

}  // namespace paceline::train
