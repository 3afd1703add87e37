#include "paceline/parallel/batch_norm/sync_batch_norm.h"

#include "paceline/base/error.h"
#include "paceline/comm/fake/fake_communicator.h"
#include "paceline/nn/batch_norm.h"
#include "paceline/parallel/gradient_clipping.h"
#include "paceline/parallel/replicated/replicated_strategy.h"
#include "support/finish_step.h"
#include "support/run_ranks.h"
#include "support/small_net.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/batchnorm.h>

namespace paceline::parallel {
namespace {

using paceline::test::run_ranks;
using paceline::test::wave;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::int64_t kChannels = 5;

/// All samples of a batch, far from zero and of unequal scales, and the gradient of their outputs.
struct WholeBatch {
  WholeBatch(std::int64_t samples, at::ScalarType dtype, at::MemoryFormat format)
      : input((wave({samples, kChannels, 3, 2}, 1) *
                   at::arange(1, kChannels + 1, at::kDouble).view({1, -1, 1, 1}) +
               4)
                  .to(dtype)
                  .contiguous(format)),
        output_grad(wave({samples, kChannels, 3, 2}, 2).to(dtype).contiguous(format)) {}

  at::Tensor input;
  at::Tensor output_grad;
};

std::shared_ptr<nn::BatchNorm2d> make_norm(at::ScalarType dtype) {
  auto norm = std::make_shared<nn::BatchNorm2d>(kChannels, 1e-5, 0.3);
  const at::NoGradGuard no_grad;
  for (at::Tensor* tensor : {&norm->weight, &norm->bias, &norm->running_mean, &norm->running_var}) {
    tensor->set_data(wave({kChannels}, static_cast<double>(tensor - &norm->weight), dtype) + 1);
  }
  return norm;
}

struct Outcome {
  at::Tensor output, input_grad, weight_grad, bias_grad, running_mean, running_var, seen;
};

Outcome pass(const nn::BatchNorm2d& norm, const at::Tensor& input, const at::Tensor& output_grad) {
  const at::Tensor leaf = input.detach().requires_grad_();
  const at::Tensor output = norm.forward(leaf);
  output.backward(output_grad);
  return {output.detach(),   leaf.grad(),      norm.weight.grad(),      norm.bias.grad(),
          norm.running_mean, norm.running_var, norm.num_batches_tracked};
}

void expect_near(const at::Tensor& actual, const at::Tensor& wanted, double tolerance,
                 const char* what) {
  ASSERT_EQ(actual.sizes(), wanted.sizes()) << what;
  ASSERT_EQ(actual.scalar_type(), wanted.scalar_type()) << what;
  if (wanted.numel() == 0) return;
  EXPECT_LE((actual - wanted).abs().max().item<double>(), tolerance) << what;
}

/// Ranks that have `shares` of a batch must get what one rank's BatchNorm gets from all of it.
void expect_one_ranks_numbers(const std::vector<std::int64_t>& shares, at::ScalarType dtype,
                              at::MemoryFormat format, double tolerance) {
  const auto total = std::accumulate(shares.begin(), shares.end(), std::int64_t{0});
  const WholeBatch batch(total, dtype, format);
  const Outcome wanted = pass(*make_norm(dtype), batch.input, batch.output_grad);
  run_ranks(static_cast<int>(shares.size()), [&](comm::Communicator& ranks) {
    const auto own = shares.begin() + ranks.rank();
    const std::int64_t first = std::accumulate(shares.begin(), own, std::int64_t{0});
    const auto norm = make_norm(dtype);
    EXPECT_EQ(set_sync_batch_norm(*norm, ranks), 1);
    const at::Tensor input = batch.input.narrow(0, first, *own);
    const Outcome actual = pass(*norm, input, batch.output_grad.narrow(0, first, *own));

    expect_near(actual.output, wanted.output.narrow(0, first, *own), tolerance, "output");
    expect_near(actual.input_grad, wanted.input_grad.narrow(0, first, *own), tolerance, "input");
    expect_near(actual.running_mean, wanted.running_mean, tolerance, "running mean");
    expect_near(actual.running_var, wanted.running_var, tolerance, "running variance");
    EXPECT_EQ(actual.seen.item<std::int64_t>(), 1);
    ranks.all_reduce(actual.weight_grad, comm::ReduceOp::kSum)->wait();
    ranks.all_reduce(actual.bias_grad, comm::ReduceOp::kSum)->wait();
    expect_near(actual.weight_grad, wanted.weight_grad, 10 * tolerance, "weight");
    expect_near(actual.bias_grad, wanted.bias_grad, 10 * tolerance, "bias");
    EXPECT_TRUE(actual.output.is_contiguous(format) && actual.input_grad.is_contiguous(format));
  });
}

TEST(SyncBatchNorm, RanksGetTheNumbersOfOneRankWithAllSamples) {
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    for (const std::vector<std::int64_t>& shares :
         {std::vector<std::int64_t>{4, 4}, {5, 1, 3}, {3, 3, 3, 2}}) {
      expect_one_ranks_numbers(shares, at::kDouble, format, 1e-12);
      expect_one_ranks_numbers(shares, at::kFloat, format, 1e-5);
    }
  }
}

TEST(SyncBatchNorm, ARankWithoutSamplesTakesPart) {
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    expect_one_ranks_numbers({2, 1, 0}, at::kDouble, format, 1e-12);
    expect_one_ranks_numbers({0, 3}, at::kFloat, format, 1e-5);
  }
}

TEST(SyncBatchNorm, GradientsAreThoseOfThePlainFormula) {
  const WholeBatch batch(6, at::kDouble, at::MemoryFormat::Contiguous);
  const auto norm = make_norm(at::kDouble);
  const at::Tensor leaf = batch.input.detach().requires_grad_();
  const auto column = [](const at::Tensor& of) { return of.view({1, -1, 1, 1}); };
  const at::Tensor centred = leaf - leaf.mean({0, 2, 3}, true);
  const at::Tensor variance = centred.square().mean({0, 2, 3}, true);
  const at::Tensor normalised = centred / (variance + norm->eps()).sqrt();
  (normalised * column(norm->weight) + column(norm->bias)).backward(batch.output_grad);
  run_ranks(3, [&](comm::Communicator& ranks) {
    const auto own = make_norm(at::kDouble);
    set_sync_batch_norm(*own, ranks);
    const std::int64_t first = 2 * ranks.rank();
    const Outcome actual =
        pass(*own, batch.input.narrow(0, first, 2), batch.output_grad.narrow(0, first, 2));
    expect_near(actual.input_grad, leaf.grad().narrow(0, first, 2), 1e-13, "input");
    ranks.all_reduce(actual.weight_grad, comm::ReduceOp::kSum)->wait();
    expect_near(actual.weight_grad, norm->weight.grad(), 1e-12, "weight");
  });
}

TEST(SyncBatchNorm, AllRanksHoldTheSameBits) {
  const WholeBatch batch(7, at::kFloat, at::MemoryFormat::ChannelsLast);
  run_ranks(3, [&](comm::Communicator& ranks) {
    const auto norm = make_norm(at::kFloat);
    set_sync_batch_norm(*norm, ranks);
    norm->forward(batch.input.narrow(0, 2 * ranks.rank(), 2 + ranks.rank() / 2));
    const at::Tensor own = at::cat({norm->running_mean, norm->running_var});
    const at::Tensor first = own.clone();
    ranks.broadcast(first, 0)->wait();
    EXPECT_TRUE(at::equal(own, first));
  });
}

TEST(SyncBatchNorm, AnInputThatNeedsNoGradientCostsNoReduction) {
  const WholeBatch batch(4, at::kDouble, at::MemoryFormat::Contiguous);
  run_ranks(2, [&](comm::Communicator& ranks) {
    const auto norm = make_norm(at::kDouble);
    set_sync_batch_norm(*norm, ranks);
    const at::Tensor output = norm->forward(batch.input.narrow(0, 2 * ranks.rank(), 2));
    // A collective in it would meet the other rank's barrier, which is a CommError.
    if (ranks.rank() == 0) output.sum().backward();
    ranks.barrier();
    EXPECT_EQ(norm->bias.grad().defined(), ranks.rank() == 0);
  });
}

TEST(SyncBatchNorm, AGroupWithoutSamplesLeavesItsStatisticsAlone) {
  const WholeBatch batch(3, at::kDouble, at::MemoryFormat::Contiguous);
  const Outcome wanted = pass(*make_norm(at::kDouble), batch.input, batch.output_grad);
  run_ranks(4, [&](comm::Communicator& ranks) {
    const bool has_samples = ranks.rank() < 2;  // rank 0 has two, rank 1 the third
    const auto group = ranks.split(has_samples ? 0 : 1);
    const auto norm = make_norm(at::kDouble);
    set_sync_batch_norm(*norm, *group);
    const std::int64_t first = ranks.rank() == 0 ? 0 : 2;
    const std::int64_t count = has_samples ? 2 - ranks.rank() : 0;
    const Outcome actual =
        pass(*norm, batch.input.narrow(0, first, count), batch.output_grad.narrow(0, first, count));
    expect_near(actual.output, wanted.output.narrow(0, first, count), 1e-12, "output");
    const auto unmoved = make_norm(at::kDouble);
    expect_near(actual.running_mean, has_samples ? wanted.running_mean : unmoved->running_mean,
                1e-12, "running mean");
    expect_near(actual.running_var, has_samples ? wanted.running_var : unmoved->running_var, 1e-12,
                "running variance");
    EXPECT_EQ(actual.weight_grad.count_nonzero().item<std::int64_t>() > 0, has_samples);
  });
}

TEST(SyncBatchNorm, OneValuePerChannelOverAllRanksIsAnError) {
  run_ranks(2, [](comm::Communicator& ranks) {
    const auto norm = make_norm(at::kFloat);
    set_sync_batch_norm(*norm, ranks);
    EXPECT_NO_THROW(norm->forward(at::ones({1, kChannels, 1, 1})));  // two in all
    const at::Tensor lonely = at::ones({1 - ranks.rank(), kChannels, 1, 1});
    EXPECT_THAT([&] { norm->forward(lonely); },
                ThrowsMessage<base::ConfigError>(HasSubstr("over the ranks")));
  });
}

/// stem * images, a norm, head * that: [N, C, H, W] to a scalar.
class NormNet final : public torch::nn::Module {
 public:
  NormNet() {
    stem = register_parameter("stem", wave({1, kChannels, 1, 1}, 1) + 2);
    norm = register_module("norm", make_norm(at::kDouble));
    head = register_parameter("head", wave({1, kChannels, 1, 1}, 2));
  }
  at::Tensor loss(bool uses_head) {
    const at::Tensor x = norm->forward(wave({2, kChannels, 3, 2}, 3) * stem);
    return (x * (uses_head ? head : head.detach())).square().sum();
  }
  at::Tensor stem, head;
  std::shared_ptr<nn::BatchNorm2d> norm;
};

// The bucket with the head's gradient starts before the norm's sums where there is one, else
// behind.
TEST(SyncBatchNorm, AGradientThatIsMissingOnOneRankDoesNotMixUpTheSums) {
  for (const bool may_miss : {false, true}) {
    run_ranks(2, [&](comm::Communicator& ranks) {
      const auto of_norms = ranks.split(0);
      NormNet net;
      set_sync_batch_norm(net, *of_norms);
      const auto strategy = make_ddp({.first_bucket_mib = 1e-5,
                                      .bucket_mib = 1e-5,
                                      .last_bucket_mib = 0,
                                      .allow_unused_parameters = may_miss},
                                     ranks);
      strategy->prepare(net, optim::weight_decay_rules(0.0, true, {}));
      strategy->begin_microbatch(true, true);
      strategy->backward(net.loss(/*uses_head=*/ranks.rank() == 0), 1.0);
      if (may_miss) {
        test::finish_step(*strategy, &ranks);
        EXPECT_GT(grad_norm(*strategy).item<double>(), 0.0);
      } else {
        EXPECT_THAT([&] { test::finish_step(*strategy, &ranks); },
                    ThrowsMessage<base::ConfigError>(HasSubstr("'head' on rank 1")));
      }
    });
  }
}

TEST(SyncBatchNorm, EvaluationFrozenStatisticsAndOneRankArePlainBatchNorm) {
  const WholeBatch batch(3, at::kFloat, at::MemoryFormat::ChannelsLast);
  const auto forward = [&](int world_size, bool is_training, bool is_frozen) {
    const auto ranks = comm::make_fake_communicator(0, world_size);
    const auto norm = make_norm(at::kFloat);
    set_sync_batch_norm(*norm, *ranks);
    norm->train(is_training);
    norm->set_frozen(is_frozen);
    return at::cat({norm->forward(batch.input).flatten(), norm->running_var}).detach();
  };
  EXPECT_TRUE(at::equal(forward(2, false, false), forward(1, false, false)));
  EXPECT_TRUE(at::equal(forward(2, true, true), forward(1, false, false)));
  EXPECT_FALSE(at::equal(forward(2, true, false), forward(1, false, false)));
  const auto plain = make_norm(at::kFloat);
  const at::Tensor output = plain->forward(batch.input);
  EXPECT_TRUE(at::equal(forward(1, true, false), at::cat({output.flatten(), plain->running_var})));
}

TEST(SyncBatchNorm, NormsThatItCannotChangeAreRefusedByName) {
  const auto ranks = comm::make_fake_communicator(0, 2);
  torch::nn::Module root;
  const auto stem = root.register_module("stem", std::make_shared<torch::nn::Module>());
  stem->register_module("bn", make_norm(at::kFloat));
  root.register_module("head", std::make_shared<torch::nn::Module>())
      ->register_module("bn", make_norm(at::kFloat));
  EXPECT_EQ(set_sync_batch_norm(root, *ranks), 2);
  stem->register_module("theirs", std::make_shared<torch::nn::BatchNorm2dImpl>(3));
  EXPECT_THAT([&] { set_sync_batch_norm(root, *ranks); },
              ThrowsMessage<base::ConfigError>(HasSubstr("'stem.theirs'")));
}

}  // namespace
}  // namespace paceline::parallel
