#pragma once

#include "paceline/parallel/strategy.h"
#include "paceline/tensor/aten.h"

namespace paceline::test {

/// Ends a step as the trainer does: one flag of all ranks decides whether they ask each other for
/// what is missing. A null communicator is one rank.
inline void finish_step(parallel::Strategy& strategy, comm::Communicator* ranks = nullptr) {
  const parallel::MissingGradients missing = strategy.missing_gradients();
  const at::Tensor any = at::full({1}, missing.names.empty() ? 0.0 : 1.0);
  strategy.finish_gradients();
  if (ranks != nullptr) ranks->all_reduce(any, comm::ReduceOp::kMax, "flag")->wait();
  if (any.item<float>() != 0) parallel::refuse_missing_gradients(missing, ranks);
}

}  // namespace paceline::test
