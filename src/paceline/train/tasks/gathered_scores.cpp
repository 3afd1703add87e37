#include "paceline/train/tasks/gathered_scores.h"

#include "paceline/base/error.h"
#include "paceline/comm/agreement.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace paceline::train {
namespace {

constexpr std::int64_t kGatheredBytes = std::int64_t{64} << 20;  ///< at once, if a class fits

at::Tensor padded(const at::Tensor& rows, std::int64_t most, double with) {
  return at::constant_pad_nd(rows, {0, most - rows.size(-1)}, with).contiguous();
}

/// [ranks, sizes of own].
at::Tensor of_all_ranks(comm::Communicator& communicator, const at::Tensor& own) {
  if (communicator.world_size() == 1) return own.unsqueeze(0);
  std::vector<std::int64_t> sizes{communicator.world_size()};
  sizes.insert(sizes.end(), own.sizes().begin(), own.sizes().end());
  const at::Tensor all = at::empty(sizes, own.options());
  communicator.all_gather(all, own, "what an evaluation measures")->wait();
  return all;
}

/// The samples of all ranks by their scores for one class.
std::vector<metrics::Scored> scored(const at::Tensor& scores, const at::Tensor& labels,
                                    std::int64_t own_class) {
  const at::Tensor values = scores.to(at::kDouble).contiguous();
  const auto* const score = values.const_data_ptr<double>();
  const auto* const label = labels.const_data_ptr<std::int64_t>();
  std::vector<metrics::Scored> samples;
  samples.reserve(static_cast<std::size_t>(labels.numel()));
  for (std::int64_t i = 0; i < labels.numel(); ++i) {
    if (label[i] >= 0) samples.push_back({score[i], label[i] == own_class});
  }
  return samples;
}

/// Puts a number where it belongs, with a 1 below it, if it is one.
void put(const at::Tensor& rows, std::int64_t column, double value) {
  if (std::isnan(value)) return;
  rows[0][column] = value;
  rows[1][column] = 1;
}

double mean_of_defined(const at::Tensor& rows) {
  return rows[0].sum().item<double>() / rows[1].sum().item<double>();
}

}  // namespace

at::Tensor gather_values(comm::Communicator& communicator, const at::Tensor& values) {
  const at::Tensor sizes =
      of_all_ranks(communicator, at::full({1}, values.numel(), at::kLong)).flatten();
  const auto most = sizes.max().item<std::int64_t>();
  const at::Tensor all = of_all_ranks(communicator, padded(values, most, 0));
  std::vector<at::Tensor> parts;
  for (std::int64_t rank = 0; rank < sizes.numel(); ++rank)
    parts.push_back(all[rank].narrow(0, 0, sizes[rank].item<std::int64_t>()));
  return at::cat(parts);
}

void GatheredScores::add(const at::Tensor& probabilities, const at::Tensor& labels) {
  num_classes_ = probabilities.size(1);
  const at::Tensor own_labels = labels.to(at::kCPU);
  const at::Tensor counted = own_labels.ge(0).nonzero().squeeze(1);
  bytes_ += static_cast<std::uint64_t>(counted.numel() * num_classes_) * probabilities.itemsize();
  if (bytes_ > most_bytes_) {  // told by all ranks, at the end
    probabilities_.clear();
    return;
  }
  probabilities_.push_back(probabilities.to(at::kCPU).index_select(0, counted));
  labels_.push_back(own_labels.index_select(0, counted));
}

void GatheredScores::require_all(comm::Communicator& communicator) const {
  if (!comm::any_rank(communicator, bytes_ > most_bytes_)) return;
  throw base::ConfigError(fmt::format(
      "task.metrics: auroc and average_precision need the probabilities of all samples for all {} "
      "classes, and a rank would keep more than {} MiB of them: leave these metrics out, evaluate "
      "fewer samples (train.eval_batches), or use more ranks",
      num_classes_, most_bytes_ >> 20));
}

at::Tensor GatheredScores::gather_classes(comm::Communicator& communicator, std::int64_t first,
                                          std::int64_t count, std::int64_t most) const {
  std::vector<at::Tensor> columns{at::empty({count, 0}, at::kDouble)};
  for (const at::Tensor& rows : probabilities_)
    columns.push_back(rows.narrow(1, first, count).t().to(at::kDouble));
  return of_all_ranks(communicator, padded(at::cat(columns, 1), most, 0));
}

metrics::RankingScores GatheredScores::mean_over_classes(comm::Communicator& communicator) {
  num_classes_ = comm::max_over_ranks(communicator, num_classes_);
  require_all(communicator);
  std::vector<at::Tensor> own{at::empty({0}, at::kLong)};
  own.insert(own.end(), labels_.begin(), labels_.end());
  const at::Tensor own_labels = at::cat(own);
  const std::int64_t most = comm::max_over_ranks(communicator, own_labels.numel());
  const at::Tensor labels =
      of_all_ranks(communicator, padded(own_labels, most, /*with=*/-1)).flatten();
  const std::int64_t class_bytes = std::max<std::int64_t>(1, labels.numel() * 8);
  const std::int64_t at_once = std::max<std::int64_t>(1, kGatheredBytes / class_bytes);
  // Each class is ranked by one rank, so that sums over ranks are exact.
  const at::Tensor rows = at::zeros({2, 2, num_classes_}, at::kDouble);
  for (std::int64_t first = 0; first < num_classes_; first += at_once) {
    const std::int64_t count = std::min(at_once, num_classes_ - first);
    const at::Tensor chunk = gather_classes(communicator, first, count, most);
    for (std::int64_t c = communicator.rank(); c < count; c += communicator.world_size()) {
      auto samples = scored(chunk.select(1, c).flatten(), labels, first + c);
      const metrics::RankingScores of_class = metrics::rank(samples);
      put(rows[0], first + c, of_class.auroc);
      put(rows[1], first + c, of_class.average_precision);
    }
  }
  if (communicator.world_size() > 1)
    communicator.all_reduce(rows, comm::ReduceOp::kSum, "scores of classes")->wait();
  return {mean_of_defined(rows[0]), mean_of_defined(rows[1])};
}

}  // namespace paceline::train
