#include "paceline/train/tasks/sample_records.h"

#include "paceline/comm/agreement.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/tasks/gathered_scores.h"

#include <algorithm>

namespace paceline::train {
namespace {

constexpr std::int64_t kFixedColumns = 3;  // index, label, loss

/// Beside the logits, so that nobody waits for a device.
at::Tensor column(const at::Tensor& values, const at::Tensor& logits) {
  return values.to(logits.device(), at::kDouble).unsqueeze(1);
}

}  // namespace

void SampleRecorder::add(const tensor::Fields& outputs, const Batch& batch) {
  const at::Tensor& logits = outputs.at(kLogits);
  const at::Tensor loss = loss_.of_evaluation().per_sample(logits, targets_of(batch));
  const std::int64_t count = std::min(num_told_, logits.size(1));
  const auto [sorted, order] = class_probabilities(logits)
                                   .to(at::kDouble)
                                   .sort(/*stable=*/true, /*dim=*/1, /*descending=*/true);
  rows_.push_back(at::cat({column(at::tensor(batch.indices, at::kLong), logits),
                           column(batch.fields.at(kLabels), logits), column(loss, logits),
                           order.narrow(1, 0, count).to(at::kDouble), sorted.narrow(1, 0, count)},
                          1));
}

EvalMeasure::Measured SampleRecorder::finish(comm::Communicator& communicator) {
  const std::int64_t width =
      comm::max_over_ranks(communicator, rows_.empty() ? kFixedColumns : rows_.front().size(1));
  at::Tensor own = at::empty({0, width}, at::kDouble);
  if (!rows_.empty()) own = at::cat(rows_).to(at::kCPU);
  at::Tensor rows = gather_values(communicator, own.flatten()).view({-1, width});
  rows_.clear();
  rows = rows.index_select(0, rows.select(1, 0).argsort());
  const std::int64_t count = (width - kFixedColumns) / 2;
  const auto whole = [](const at::Tensor& values) { return values.to(at::kLong).contiguous(); };
  records_ = {whole(rows.select(1, 0)), whole(rows.select(1, 1)), rows.select(1, 2).contiguous(),
              whole(rows.narrow(1, kFixedColumns, count)),
              rows.narrow(1, kFixedColumns + count, count).contiguous()};
  return {};
}

}  // namespace paceline::train
