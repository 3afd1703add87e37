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

/// Whether each sample is of a class, as int8 [n]: -1 of one that counts nothing.
at::Tensor is_of_class(const at::Tensor& labels, std::int64_t own_class) {
  return labels.eq(own_class).to(at::kChar).masked_fill(labels.lt(0), -1);
}

/// The samples of all ranks by their scores for one class.
std::vector<metrics::Scored> scored(const at::Tensor& scores, const at::Tensor& is_of_it) {
  const at::Tensor values = scores.contiguous();
  const at::Tensor own = is_of_it.contiguous();
  const auto* const score = values.const_data_ptr<double>();
  const auto* const is_positive = own.const_data_ptr<std::int8_t>();
  std::vector<metrics::Scored> samples;
  samples.reserve(static_cast<std::size_t>(own.numel()));
  for (std::int64_t i = 0; i < own.numel(); ++i) {
    if (is_positive[i] >= 0) samples.push_back({score[i], is_positive[i] == 1});
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
  are_sets_ = labels.dim() == 2;
  at::Tensor own_labels = labels.to(at::kCPU);
  at::Tensor own = probabilities.to(at::kCPU);
  if (!are_sets_) {
    const at::Tensor counted = own_labels.ge(0).nonzero().squeeze(1);
    own_labels = own_labels.index_select(0, counted);
    own = own.index_select(0, counted);
  }
  bytes_ += own.nbytes() + (are_sets_ ? own_labels.nbytes() : 0);
  if (bytes_ > most_bytes_) {  // told by all ranks, at the end
    probabilities_.clear();
    return;
  }
  num_samples_ += own.size(0);
  probabilities_.push_back(std::move(own));
  labels_.push_back(std::move(own_labels));
}

void GatheredScores::require_all(comm::Communicator& communicator) const {
  if (!comm::any_rank(communicator, bytes_ > most_bytes_)) return;
  throw base::ConfigError(fmt::format(
      "task.metrics: auroc and average_precision need the probabilities of all samples for all {} "
      "classes, and a rank would keep more than {} MiB of them: leave these metrics out, evaluate "
      "fewer samples (train.eval_batches), or use more ranks",
      num_classes_, most_bytes_ >> 20));
}

at::Tensor GatheredScores::gather_classes(comm::Communicator& communicator,
                                          const std::vector<at::Tensor>& of, ClassRange classes,
                                          at::ScalarType dtype) const {
  std::vector<at::Tensor> columns{at::empty({classes.count, 0}, dtype)};
  for (const at::Tensor& rows : of)
    columns.push_back(rows.narrow(1, classes.first, classes.count).t().to(dtype));
  return of_all_ranks(communicator, padded(at::cat(columns, 1), most_samples_, /*with=*/-1));
}

at::Tensor GatheredScores::gather_labels(comm::Communicator& communicator) const {
  std::vector<at::Tensor> own{at::empty({0}, at::kLong)};
  own.insert(own.end(), labels_.begin(), labels_.end());
  return of_all_ranks(communicator, padded(at::cat(own), most_samples_, /*with=*/-1)).flatten();
}

metrics::RankingScores GatheredScores::mean_over_classes(comm::Communicator& communicator) {
  num_classes_ = comm::max_over_ranks(communicator, num_classes_);
  require_all(communicator);
  are_sets_ = comm::any_rank(communicator, are_sets_);
  most_samples_ = comm::max_over_ranks(communicator, num_samples_);
  const at::Tensor labels = are_sets_ ? at::Tensor() : gather_labels(communicator);
  const std::int64_t class_bytes =
      std::max<std::int64_t>(1, communicator.world_size() * most_samples_ * 8);
  const std::int64_t at_once = std::max<std::int64_t>(1, kGatheredBytes / class_bytes);
  // Each class is ranked by one rank, so that sums over ranks are exact.
  const at::Tensor rows = at::zeros({2, 2, num_classes_}, at::kDouble);
  for (std::int64_t first = 0; first < num_classes_; first += at_once) {
    const ClassRange classes{first, std::min(at_once, num_classes_ - first)};
    const at::Tensor scores = gather_classes(communicator, probabilities_, classes, at::kDouble);
    const at::Tensor sets =
        are_sets_ ? gather_classes(communicator, labels_, classes, at::kChar) : at::Tensor();
    for (std::int64_t c = communicator.rank(); c < classes.count; c += communicator.world_size()) {
      const at::Tensor is_of_it =
          are_sets_ ? sets.select(1, c).flatten() : is_of_class(labels, first + c);
      auto samples = scored(scores.select(1, c).flatten(), is_of_it);
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
