#include "paceline/train/tasks/volume/patient_records.h"

#include "paceline/train/tasks/gathered_scores.h"

namespace paceline::train {

void PatientRecorder::add(const tensor::Fields& outputs, const Batch& batch) {
  const at::Tensor& qualities = outputs.at(kQualities);
  const at::Tensor indices =
      at::tensor(batch.indices, at::kLong).to(qualities.device(), at::kDouble).unsqueeze(1);
  rows_.push_back(at::cat({indices, qualities}, 1));
}

EvalMeasure::Measured PatientRecorder::finish(comm::Communicator& communicator) {
  const std::int64_t width = 1 + std::ssize(names_);
  at::Tensor own = at::empty({0, width}, at::kDouble);
  if (!rows_.empty()) own = at::cat(rows_).to(at::kCPU);
  rows_.clear();
  at::Tensor rows = gather_values(communicator, own.flatten()).view({-1, width});
  rows = rows.index_select(0, rows.select(1, 0).argsort());
  records_ = {names_, rows.select(1, 0).to(at::kLong).contiguous(),
              rows.narrow(1, 1, width - 1).contiguous()};
  return {};
}

}  // namespace paceline::train
