// The first stage of a cascade of quarter scale beside its twin in PyTorch (peers/cascade.py).
//
//   write   to FILE (safetensors) weights, a batch, what is drawn for it and what comes of both:
//   the
//           loss of task ct_diffusion, and volumes by a few steps of DDIM
//   sample  prints one line {"ms": MEDIAN} of what it takes from X-rays to a volume by STEPS steps
//
// Usage: cascade write SIDE PATCH FILE
//        cascade sample SIDE PATCH STEPS ROUNDS

#include "paceline/base/file.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/models/ct_cascade/ct_cascade.h"
#include "paceline/nn/diffusion/sample_draws.h"
#include "paceline/nn/volume/cascade_sampling.h"
#include "paceline/tensor/torch.h"
#include "paceline/train/tasks/volume/ct_diffusion.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pl = paceline;
using Clock = std::chrono::steady_clock;

namespace {

constexpr std::int64_t kXraySize = 128;
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kFewSteps = 5;
constexpr std::uint64_t kSeed = 3;

std::shared_ptr<pl::models::CtCascade> cascade(std::int64_t side, std::int64_t patch) {
  auto network = std::make_shared<pl::models::CtCascade>(
      pl::models::CtCascadeConfig{.stages = {{side, patch, /*dim=*/64, /*depth=*/4, /*heads=*/4}},
                                  .xray_size = kXraySize,
                                  .xray_dim = 128});
  network->initialize(kSeed);
  // Layers that begin with zeros would hide all that is behind them.
  const at::NoGradGuard no_grad;
  torch::manual_seed(kSeed);
  for (const auto& parameter : network->parameters())
    parameter.add_(at::randn_like(parameter), 0.02);
  return network;
}

at::Tensor xrays(std::int64_t count) { return at::rand({count, 2, kXraySize, kXraySize}) * 2 - 1; }

pl::train::Batch batch_of(std::int64_t side) {
  pl::train::Batch batch;
  batch.size = kBatch;
  batch.global_size = kBatch;
  batch.fields.set(pl::train::kXrays, xrays(kBatch));
  batch.fields.set(pl::train::kVolume, at::rand({kBatch, side, side, side}) * 2 - 1);
  return batch;
}

void write(std::int64_t side, std::int64_t patch, const std::string& file) {
  const auto network = cascade(side, patch);
  std::vector<pl::checkpoint::NamedTensor> written;
  for (const auto& parameter : pl::nn::named_parameters(*network))
    written.push_back({"weights." + parameter.name, parameter.tensor.detach()});
  const pl::train::Batch batch = batch_of(side);
  for (const auto& field : batch.fields) written.push_back({field.name, field.tensor});

  pl::train::CtDiffusion task(network, {.physics_weight = 0});
  const pl::nn::ForwardContext context{kSeed, /*step=*/1, /*first_position=*/0};
  const auto outputs = task.forward(batch, context);
  const at::Tensor loss = task.loss(outputs, batch) / static_cast<double>(kBatch);
  loss.backward();
  written.push_back({"steps", outputs.at("steps")});
  written.push_back({"loss", loss.detach()});
  const at::Tensor& volumes = batch.fields.at(pl::train::kVolume);
  written.push_back(
      {"noise", pl::nn::drawn_normals(volumes, pl::nn::DiffusionDraw::kNoise, context)});
  for (const auto& parameter : pl::nn::named_parameters(*network))
    written.push_back({"gradients." + parameter.name, parameter.tensor.grad()});

  const auto contexts = pl::nn::encode_for_cascade(*network, batch.fields.at(pl::train::kXrays));
  written.push_back({"first_noise", pl::nn::drawn_normals(volumes, pl::nn::DiffusionDraw::kNoise,
                                                          {kSeed, 0, 0}, /*index=*/1)});
  written.push_back({"samples", pl::nn::sample_cascade(*network, contexts, pl::nn::NoiseSchedule(),
                                                       {.steps = kFewSteps}, {.seed = kSeed})
                                    .at(0)});
  pl::base::RealFileSystem files;
  pl::checkpoint::export_weights(files, file, written);
}

void sample(std::int64_t side, std::int64_t patch, std::int64_t steps, int rounds) {
  const auto network = cascade(side, patch);
  const pl::nn::NoiseSchedule schedule;
  const at::Tensor patient = xrays(1);
  std::vector<double> times;
  for (int round = 0; round <= rounds; ++round) {
    const auto begin = Clock::now();
    const auto contexts = pl::nn::encode_for_cascade(*network, patient);
    pl::nn::sample_cascade(*network, contexts, schedule, {.steps = steps},
                           {.seed = kSeed, .sample = round});
    const std::chrono::duration<double, std::milli> taken = Clock::now() - begin;
    if (round > 0) times.push_back(taken.count());  // the first one finds memory
  }
  std::ranges::sort(times);
  std::printf("{\"ms\": %.4f}\n", times[times.size() / 2]);
}

}  // namespace

int main(int argc, char** argv) try {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "write" && argc == 5) {
    write(std::stoll(argv[2]), std::stoll(argv[3]), argv[4]);
  } else if (mode == "sample" && argc == 6) {
    sample(std::stoll(argv[2]), std::stoll(argv[3]), std::stoll(argv[4]), std::stoi(argv[5]));
  } else {
    throw std::invalid_argument(
        "usage: cascade write SIDE PATCH FILE | sample SIDE PATCH STEPS ROUNDS");
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
