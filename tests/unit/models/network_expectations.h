#pragma once

#include "paceline/nn/batch_norm.h"
#include "paceline/nn/image_network.h"

#include <gtest/gtest.h>

namespace paceline::models {

/// A network in training mode drops by seed, step and position of a sample, whatever shares its
/// batch; in evaluation nothing. It leaves LibTorch's generator as it is.
inline void expect_drops_by_sample(nn::ImageNetwork& network, std::int64_t size) {
  const auto generator = [] { return at::globalContext().defaultGenerator(at::kCPU).get_state(); };
  const at::Tensor before = generator();
  network.initialize(1);
  nn::set_batch_norm_frozen(network, true);
  const at::NoGradGuard no_grad;
  const at::Tensor all =
      at::linspace(-2, 2, 6 * 3 * size * size).mul(50).sin().view({6, 3, size, size});
  const auto run = [&](const at::Tensor& images, const nn::ForwardContext& context) {
    return network.forward_images(images, context).to(at::kDouble);
  };
  const at::Tensor whole = run(all, {.seed = 9, .step = 4, .first_position = 100});
  const at::Tensor scale = whole.abs().max();
  const auto distance = [&](const at::Tensor& other) {
    return ((whole - other).abs().max() / scale).item<double>();
  };
  const at::Tensor head = run(all.slice(0, 0, 2), {9, 4, 100});
  const at::Tensor tail = run(all.slice(0, 2, 6), {9, 4, 102});
  EXPECT_LT(distance(at::cat({head, tail})), 1e-5);
  EXPECT_GT(distance(run(all, {9, 5, 100})), 1e-3);
  EXPECT_GT(distance(run(all, {8, 4, 100})), 1e-3);
  EXPECT_GT(distance(run(all, {9, 4, 101})), 1e-3);
  nn::set_training(network, false);
  EXPECT_TRUE(at::equal(run(all, {9, 4, 100}), run(all, {9, 5, 100})));
  EXPECT_TRUE(at::equal(before, generator()));
}

/// Channels-last changes the layout and not the numbers.
inline void expect_any_layout(nn::ImageNetwork& network, std::int64_t size) {
  network.initialize(3);
  nn::set_training(network, false);
  const at::NoGradGuard no_grad;
  const at::Tensor images = at::linspace(-1, 1, 2 * 3 * size * size).view({2, 3, size, size});
  const at::Tensor wanted = network.forward_images(images, {});
  nn::set_channels_last(network);
  const at::Tensor got =
      network.forward_images(images.contiguous(at::MemoryFormat::ChannelsLast), {});
  EXPECT_TRUE(at::allclose(got, wanted, 1e-4, 1e-5));
}

}  // namespace paceline::models
