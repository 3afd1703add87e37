#pragma once

#include "paceline/optim/adam.h"
#include "paceline/optim/param_groups.h"
#include "paceline/parallel/gradient_clipping.h"
#include "support/block_net.h"
#include "support/ragged_step.h"

#include <memory>
#include <vector>

namespace paceline::test {

struct BlockNetTraining {
  BlockNetOptions net = {};
  int num_microbatches = 1;
};

inline std::vector<optim::GroupRule> block_net_rules() {
  return optim::weight_decay_rules(0.01, false, {});
}

/// 30 AdamW steps with clipped gradients on this rank's share of ragged batches.
inline std::unique_ptr<optim::Optimizer> train(parallel::Strategy& strategy, BlockNet& net,
                                               int rank, int world_size,
                                               const BlockNetTraining& training) {
  strategy.prepare(net, block_net_rules());
  auto optimizer = optim::make_optimizer(optim::AdamWConfig{}, strategy.param_groups());
  const Share share(rank, world_size);
  for (int step = 0; step < 30; ++step) {
    ragged_step(strategy, net, share, training.num_microbatches);
    parallel::clip_grad_norm(strategy, 0.5);
    optimizer->step(0.01);
  }
  return optimizer;
}

/// The elements of a whole tensor that a shard holds, [n].
inline at::Tensor elements_of(const at::Tensor& whole, const tensor::StateShard& shard) {
  const at::Tensor ordered = shard.order.empty() ? whole : whole.permute(shard.order);
  return ordered.reshape({-1}).narrow(0, shard.begin, shard.end - shard.begin);
}

}  // namespace paceline::test
