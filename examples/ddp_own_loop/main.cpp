// DDP for a module and a training loop of your own:
//
//   paceline launch --nproc 2 -- ./ddp_own_loop
//
// Two ranks fit y = sin(x) together, each on its own half of every batch. The weights stay equal on
// all ranks, and are those that one rank would get from the whole batch.

#include <cstdio>
#include <exception>

#include <paceline/comm/c10d/bootstrap.h>
#include <paceline/launch/rank_info.h>
#include <paceline/parallel/replicated/distributed_data_parallel.h>
#include <paceline/tensor/torch.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/sgd.h>

namespace {

constexpr int kSteps = 400;
constexpr int kGlobalBatch = 64;

struct Net : torch::nn::Module {
  torch::nn::Linear hidden = register_module("hidden", torch::nn::Linear(1, 32));
  torch::nn::Linear output = register_module("output", torch::nn::Linear(32, 1));

  at::Tensor forward(const at::Tensor& x) { return output(at::tanh(hidden(x))); }
};

/// This rank's share of a batch, the same points in every world size.
at::Tensor inputs(int step, int rank, int world_size) {
  const at::Tensor all =
      at::arange(kGlobalBatch, at::kFloat).add(step).mul(0.618).frac().mul(6) - 3;
  return all.chunk(world_size)[static_cast<std::size_t>(rank)].unsqueeze(1);
}

void train(paceline::comm::Communicator& communicator) {
  at::manual_seed(1);
  Net net;
  torch::optim::SGD optimizer(net.parameters(), torch::optim::SGDOptions(0.05).momentum(0.9));
  paceline::parallel::DistributedDataParallel ddp(net, communicator);
  for (int step = 0; step < kSteps; ++step) {
    const at::Tensor x = inputs(step, communicator.rank(), communicator.world_size());
    optimizer.zero_grad();
    const at::Tensor loss = (net.forward(x) - x.sin()).square().mean();
    loss.backward();         // gradients are reduced while it runs
    ddp.finish_gradients();  // now every .grad is the mean over the ranks
    optimizer.step();
    if (communicator.rank() == 0 && (step + 1) % 100 == 0) {
      std::printf("step %d: loss %.5f\n", step + 1, loss.item<double>());
    }
  }
  const double sum = net.hidden->weight.detach().to(at::kDouble).sum().item<double>();
  std::printf("rank %d of %d: weights sum to %.9f\n", communicator.rank(),
              communicator.world_size(), sum);
}

}  // namespace

int main() try {
  // As `paceline launch` (or torchrun, srun, mpirun) gave it.
  const auto place = paceline::launch::read_rank_info(paceline::launch::Environment::of_process());
  const auto communicator = paceline::comm::connect(paceline::comm::group_options(place));
  train(*communicator);
  communicator->shutdown();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
