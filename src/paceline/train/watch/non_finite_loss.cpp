#include "paceline/train/watch/non_finite_loss.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace paceline::train {
namespace {

constexpr std::size_t kMostNamed = 8;

}  // namespace

void refuse_non_finite_loss(std::int64_t step, std::span<const std::int64_t> own,
                            const SampleName& name_of, comm::Communicator& communicator) {
  // A line each: their number, then names.
  std::string told = std::to_string(own.size());
  for (const std::int64_t index : own.first(std::min(kMostNamed, own.size())))
    told += "\n" + name_of(index);
  std::string message = fmt::format("the loss of step {} is not finite", step);
  std::size_t num_named = 0;
  std::size_t num_samples = 0;
  const std::vector<std::string> all = communicator.all_gather_text(told);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    std::vector<std::string> names = base::split(all[rank], '\n');
    num_samples += std::stoull(names.front());
    names.erase(names.begin());
    names.resize(std::min(names.size(), kMostNamed - num_named));
    num_named += names.size();
    if (!names.empty())
      message += fmt::format("; on rank {} with samples {}", rank, base::join(names, ", "));
  }
  if (num_samples > num_named)
    message += fmt::format(" and {} others of these batches", num_samples - num_named);
  throw base::DivergedError(
      message +
      ". The step was not applied. Lower optimizer.lr, lengthen schedule.warmup, "
      "set train.grad_clip_norm, or look at those samples (paceline data show)");
}

void refuse_non_finite_norm(std::int64_t step, double norm) {
  if (std::isfinite(norm)) return;
  throw base::DivergedError(
      fmt::format("the gradient norm of step {} is {}. The step was not applied. Lower "
                  "optimizer.lr, lengthen schedule.warmup, or look at the losses before it",
                  step, std::abs(norm)));  // no "-nan"
}

void refuse_small_loss_scale(std::int64_t step) {
  throw base::DivergedError(
      fmt::format("the gradients of step {} are not finite however little the loss is scaled. "
                  "The step was not applied. Lower optimizer.lr, or use train.precision: bf16",
                  step));
}

}  // namespace paceline::train
