#include "paceline/parallel/replicated/power_sgd.h"

#include "support/run_ranks.h"
#include "support/small_net.h"

#include <limits>

#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::run_ranks;
using paceline::test::wave;

/// Two buckets, the first with nothing to compress.
tensor::Arena two_buckets() {
  const std::vector<tensor::TensorSpec> specs{{"kernel", "float64", {8, 3, 2, 2}, {12, 1, 6, 3}, 0},
                                              {"matrix", "float64", {16, 24}, {24, 1}, 0},
                                              {"bias", "float64", {16}, {1}, 0}};
  const auto layout = tensor::FlatLayout::build(specs, {.first_bucket_bytes = 128});
  EXPECT_EQ(layout.buckets.size(), 2U);
  return {layout, at::zeros({1}, at::kDouble)};
}

void sum_all(PowerSgd& compression) {
  std::vector<std::unique_ptr<comm::Work>> works;
  for (std::size_t bucket = 0; bucket < 2; ++bucket)
    works.push_back(compression.all_reduce(bucket));
  for (const auto& work : works) work->wait();
}

/// Matrices of full rank.
void set_gradients(const tensor::Arena& arena, double phase) {
  for (std::size_t slot = 0; slot < 3; ++slot) {
    arena.slot(slot).copy_(
        at::tanh(3 * wave(arena.slot(slot).sizes(), phase + static_cast<double>(slot))));
  }
}

at::Tensor flat_copy(const tensor::Arena& arena) { return arena.flats().front().clone(); }

TEST(PowerSgd, TheFirstSumsAreExact) {
  run_ranks(3, [](comm::Communicator& communicator) {
    const tensor::Arena arena = two_buckets();
    PowerSgd compression(1, /*start=*/2, arena, communicator);
    at::Tensor expected = at::zeros_like(arena.flats().front());
    for (int rank = 0; rank < 3; ++rank) {
      set_gradients(arena, rank);
      expected += arena.flats().front();
    }
    for (int step = 0; step < 3; ++step) {
      set_gradients(arena, communicator.rank());
      sum_all(compression);
      EXPECT_EQ(at::allclose(arena.flats().front(), expected, 1e-12, 1e-12), step < 2) << step;
    }
  });
}

TEST(PowerSgd, WhatASumLeavesOutIsInTheErrors) {
  for (const int rank_of_matrices : {1, 3}) {
    run_ranks(3, [&](comm::Communicator& communicator) {
      const tensor::Arena arena = two_buckets();
      PowerSgd compression(rank_of_matrices, 0, arena, communicator);
      at::Tensor expected = at::zeros_like(arena.flats().front());
      at::Tensor sums = at::zeros_like(expected);
      for (int step = 0; step < 5; ++step) {
        for (int rank = 0; rank < 3; ++rank) {
          set_gradients(arena, 7.0 * step + rank);
          expected += arena.flats().front();
        }
        set_gradients(arena, 7.0 * step + communicator.rank());
        sum_all(compression);
        sums += arena.flats().front();
      }
      EXPECT_FALSE(at::allclose(sums, expected, 1e-6, 1e-6));
      // As if the errors were one more gradient.
      arena.flats().front().zero_();
      for (const tensor::StateShard& shard : compression.state()) {
        if (!shard.is_per_rank) continue;
        for (const tensor::FlatSlot& slot : arena.layout().slots) {
          if (!shard.name.ends_with("/" + slot.spec.name)) continue;
          arena.flats().front().narrow(0, slot.offset, slot.numel).copy_(shard.data);
        }
      }
      communicator.all_reduce(arena.flats().front(), comm::ReduceOp::kSum)->wait();
      EXPECT_TRUE(at::allclose(sums + arena.flats().front(), expected, 1e-12, 1e-12));
    });
  }
}

TEST(PowerSgd, AConstantGradientArrivesInTheMean) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const tensor::Arena arena = two_buckets();
    PowerSgd compression(2, 0, arena, communicator);
    at::Tensor mean = at::zeros_like(arena.flats().front());
    constexpr int kSums = 200;
    for (int step = 0; step < kSums; ++step) {
      set_gradients(arena, 1);
      sum_all(compression);
      mean += arena.flats().front() / (2.0 * kSums);
    }
    set_gradients(arena, 1);
    EXPECT_LE((mean - arena.flats().front()).abs().max().item<double>(), 0.02);
  });
}

TEST(PowerSgd, GoesOnAfterZerosAndAfterGradientsThatAreNotFinite) {
  run_ranks(2, [](comm::Communicator& communicator) {
    const tensor::Arena arena = two_buckets();
    PowerSgd compression(2, 0, arena, communicator);
    sum_all(compression);
    EXPECT_EQ(arena.flats().front().count_nonzero().item<std::int64_t>(), 0);

    set_gradients(arena, 1);
    if (communicator.rank() == 1) {
      arena.bucket(1)[0].fill_(std::numeric_limits<double>::infinity());
    }
    sum_all(compression);
    EXPECT_FALSE(arena.flats().front().isfinite().all().item<bool>());

    set_gradients(arena, 1);
    const at::Tensor gradient = flat_copy(arena);
    sum_all(compression);
    EXPECT_TRUE(arena.flats().front().isfinite().all().item<bool>());
    EXPECT_GT(at::dot(arena.bucket(1),
                      gradient.narrow(0, arena.layout().buckets[1].begin, arena.bucket(1).numel()))
                  .item<double>(),
              0.0);
  });
}

TEST(PowerSgd, StartsFromTheSameQOnEveryRankWithoutTheDefaultGenerator) {
  const at::Tensor generator = at::globalContext().defaultGenerator(at::kCPU).get_state();
  std::vector<at::Tensor> of_rank(2);
  run_ranks(2, [&](comm::Communicator& communicator) {
    const tensor::Arena arena = two_buckets();
    PowerSgd compression(2, 0, arena, communicator);
    for (const tensor::StateShard& shard : compression.state()) {
      if (shard.name == "compression.q/matrix") {
        of_rank[static_cast<std::size_t>(communicator.rank())] = shard.data.clone();
      }
    }
  });
  ASSERT_TRUE(of_rank[0].defined());
  EXPECT_TRUE(of_rank[0].equal(of_rank[1]));
  EXPECT_GT(of_rank[0].std().item<double>(), 0.5);
  EXPECT_TRUE(generator.equal(at::globalContext().defaultGenerator(at::kCPU).get_state()));
}

}  // namespace
}  // namespace paceline::parallel
