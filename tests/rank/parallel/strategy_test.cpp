// Which parameters are trained may change between two steps, under every strategy.

#include "paceline/parallel/strategy.h"

#include "paceline/base/error.h"
#include "paceline/optim/sgd.h"
#include "paceline/tensor/torch.h"
#include "support/counting_communicator.h"
#include "support/finish_step.h"
#include "support/run_ranks.h"
#include "support/strategies.h"
#include "support/train_block_net.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::parallel {
namespace {

using paceline::test::block_net_rules;
using paceline::test::BlockNet;
using paceline::test::elements_of;
using paceline::test::run_ranks;
using paceline::test::Share;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Tensors = std::map<std::string, at::Tensor>;

/// Whether a parameter lies in the first two blocks, which are units of their own.
bool is_in_first_blocks(const std::string& name) {
  return name.starts_with("block0") || name.starts_with("block1");
}
bool is_elsewhere(const std::string& name) { return !is_in_first_blocks(name); }
bool is_any(const std::string&) { return true; }

std::unique_ptr<optim::Optimizer> make_adamw(Strategy& strategy) {
  return optim::make_optimizer(optim::AdamWConfig{}, strategy.param_groups());
}

std::unique_ptr<optim::Optimizer> make_momentum(Strategy& strategy) {
  return optim::make_optimizer(optim::SgdConfig{.momentum = 0.9, .nesterov = true},
                               strategy.param_groups());
}

/// A rank's training of a BlockNet in microbatches of ragged batches.
class Training {
 public:
  Training(std::unique_ptr<Strategy> strategy, comm::Communicator& ranks,
           const std::function<std::unique_ptr<optim::Optimizer>(Strategy&)>& make = make_adamw,
           bool freezes_before = false)
      : strategy_(std::move(strategy)),
        net_(ranks.rank()),
        share_(ranks.rank(), ranks.world_size()) {
    if (freezes_before) {
      for (const auto& item : net_.named_parameters()) {
        if (is_in_first_blocks(item.key())) item.value().requires_grad_(false);
      }
    }
    strategy_->prepare(net_, block_net_rules());
    optimizer_ = make(*strategy_);
  }
  Strategy* operator->() { return strategy_.get(); }

  void run(int num_steps) {
    for (int i = 0; i < num_steps; ++i) {
      test::ragged_step(*strategy_, net_, share_, 3);
      EXPECT_TRUE(strategy_->missing_gradients().names.empty());
      norms.push_back(clip_grad_norm(*strategy_, 0.5).item<double>());
      strategy_->update(*optimizer_, 0.01);
    }
  }

  /// Views of weights and optimizer state.
  std::vector<StateShard> state() const {
    std::vector<StateShard> all = strategy_->model_state();
    for (StateShard& shard : strategy_->optimizer_state(*optimizer_))
      all.push_back(std::move(shard));
    return all;
  }
  Tensors values() const {
    Tensors values;
    for (const StateShard& shard : state()) values[shard.name] = shard.data.clone();
    return values;
  }

  std::vector<double> norms;  ///< of each step

 private:
  std::unique_ptr<Strategy> strategy_;
  BlockNet net_;
  Share share_;
  std::unique_ptr<optim::Optimizer> optimizer_;
};

/// Of a shard's name, without what the optimizer puts before it.
std::string parameter_of(const std::string& name) { return name.substr(name.rfind('/') + 1); }

void expect_near(const Training& training, const Tensors& wanted) {
  for (const StateShard& shard : training.state()) {
    if (!wanted.contains(shard.name)) continue;
    const at::Tensor difference =
        shard.data.reshape({-1}) - elements_of(wanted.at(shard.name), shard);
    EXPECT_LE(difference.abs().max().item<double>(), 1e-10) << shard.name;
  }
}

/// On one rank that trains by "none".
Tensors alone(
    const std::function<void(Training&)>& run, bool freezes_before = false,
    const std::function<std::unique_ptr<optim::Optimizer>(Strategy&)>& make = make_adamw) {
  Tensors values;
  run_ranks(1, [&](comm::Communicator& ranks) {
    Training training(make_none({}), ranks, make, freezes_before);
    run(training);
    values = training.values();
  });
  return values;
}

class Trainable : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<Strategy> make(comm::Communicator& ranks) {
    if (GetParam() == "none") return make_none({});
    return test::main_strategies().at(GetParam())(ranks);
  }
  void on_ranks(const std::function<void(Training&)>& run) {
    for (const int world_size : {1, 2, 4}) {
      if (GetParam() == "none" && world_size > 1) continue;
      SCOPED_TRACE(world_size);
      run_ranks(world_size, [&](comm::Communicator& ranks) {
        Training training(make(ranks), ranks);
        run(training);
      });
    }
  }
};

TEST_P(Trainable, WhatIsFrozenRestsAndTheOthersTrainAsIfItHadBeenFrozenFromTheStart) {
  const Tensors wanted = alone([](Training& training) { training.run(10); },
                               /*freezes_before=*/true);
  on_ranks([&](Training& training) {
    const Tensors before = training.values();
    training->set_trainable(is_elsewhere);
    training.run(10);
    for (const auto& [name, value] : training.values()) {
      if (!is_in_first_blocks(parameter_of(name))) continue;
      EXPECT_TRUE(value.equal(before.at(name))) << name;
    }
    Tensors others = wanted;
    std::erase_if(others,
                  [](const auto& item) { return is_in_first_blocks(parameter_of(item.first)); });
    expect_near(training, others);
  });
}

TEST_P(Trainable, FreezingAndThawingInTheMiddleIsThatOfOneRank) {
  const auto run = [](Training& training) {
    training.run(4);
    const Tensors before = training.values();
    training->set_trainable(is_elsewhere);
    training.run(4);
    for (const auto& [name, value] : training.values()) {
      EXPECT_EQ(value.equal(before.at(name)),
                is_in_first_blocks(parameter_of(name)) || name == "seen")
          << name;
    }
    training->set_trainable(is_any);
    training.run(4);
    for (const auto& [name, value] : training.values())
      EXPECT_EQ(value.equal(before.at(name)), name == "seen") << name;
  };
  const Tensors wanted = alone(run);
  on_ranks([&](Training& training) {
    run(training);
    expect_near(training, wanted);
  });
}

TEST_P(Trainable, NamesMeanTheSameAsAPredicate) {
  on_ranks([&](Training& training) {
    std::vector<std::string> names;
    for (const NamedTensor& parameter : training->parameters()) {
      if (is_elsewhere(parameter.name)) names.push_back(parameter.name);
    }
    training->train_only(names);
    std::vector<std::string> trained;
    for (const NamedTensor& parameter : training->parameters()) {
      if (parameter.tensor.requires_grad()) trained.push_back(parameter.name);
    }
    EXPECT_EQ(trained, names);
    names.push_back("block7.up");
    EXPECT_THAT([&] { training->train_only(names); },
                ThrowsMessage<base::ConfigError>(HasSubstr("'block7.up'")));
    training.run(1);
  });
}

TEST_P(Trainable, OneMustBeLeftAndAFixedSetStays) {
  on_ranks([&](Training& training) {
    EXPECT_THAT([&] { training->set_trainable([](const auto&) { return false; }); },
                ThrowsMessage<base::ConfigError>(HasSubstr("leave one to train")));
    training->set_trainable(is_elsewhere);
    training->fix_trainable("a step is recorded");
    training->set_trainable(is_elsewhere);
    EXPECT_THAT([&] { training->set_trainable(is_any); },
                ThrowsMessage<base::ConfigError>(HasSubstr("cannot change: a step is recorded")));
    training.run(1);
  });
}

INSTANTIATE_TEST_SUITE_P(All, Trainable,
                         testing::Values("none", "ddp", "zero1", "zero2", "fsdp", "hsdp"),
                         [](const auto& of) { return of.param; });

// As torch.optim.SGD does it, which leaves out what has no gradient.
TEST(TrainableWeights, RestWithTheirMomentum) {
  const Tensors found = alone(
      [](Training& training) {
        training.run(3);
        training->set_trainable(is_elsewhere);
        training.run(3);
        training->set_trainable(is_any);
        training.run(3);
      },
      false, make_momentum);
  BlockNet net;
  Tensors momenta;
  for (int step = 0; step < 9; ++step) {
    const auto parameters = net.named_parameters();
    for (const auto& item : parameters) {
      item.value().requires_grad_(step / 3 != 1 || is_elsewhere(item.key()));
      item.value().mutable_grad().reset();
    }
    (summed_loss(net, 0, test::kRaggedBatch) / test::kRaggedBatch).backward();
    const at::NoGradGuard no_grad;
    double squares = 0;
    for (const auto& item : parameters) {
      if (item.value().grad().defined())
        squares += item.value().grad().square().sum().item<double>();
    }
    const double clip = std::min(1.0, 0.5 / (std::sqrt(squares) + 1e-6));
    for (const auto& item : parameters) {
      if (!item.value().grad().defined()) continue;
      const double decay = item.value().dim() > 1 ? 0.01 : 0.0;
      const at::Tensor grad = item.value().grad() * clip + item.value() * decay;
      at::Tensor& momentum = momenta[item.key()];
      momentum = momentum.defined() ? momentum * 0.9 + grad : grad.clone();
      item.value().sub_(0.01 * (grad + 0.9 * momentum));
    }
  }
  for (const auto& item : net.named_parameters()) {
    EXPECT_TRUE(at::allclose(found.at(item.key()), item.value().detach(), 0, 1e-10)) << item.key();
  }
}

// In float64; the stem has 162 elements, a block 156 and the head 30.
TEST(TrainableDdp, SendsNothingOfWhatIsFrozenBelow) {
  run_ranks(2, [](comm::Communicator& ranks) {
    test::CountingCommunicator counting(ranks);
    BlockNet net;
    const auto strategy = make_ddp({.first_bucket_mib = 0.0005, .bucket_mib = 0.0005}, counting);
    strategy->prepare(net, block_net_rules());
    const auto sent = [&] {
      counting.take_calls();
      test::ragged_step(*strategy, net, Share(ranks.rank(), 2), 1);
      std::int64_t bytes = 0;
      for (const test::CountedCall& call : counting.take_calls()) bytes += call.bytes;
      return bytes;
    };
    const std::int64_t all = sent();
    strategy->set_trainable(
        [](const std::string& name) { return name.starts_with("block3") || name == "head"; });
    const std::int64_t some = sent();
    EXPECT_LT(some, all / 2);
    EXPECT_GE(some, 8 * (156 + 30));
    strategy->set_trainable(is_any);
    EXPECT_EQ(sent(), all);
  });
}

TEST(TrainableZero, ReducesNoUnitThatRests) {
  run_ranks(2, [](comm::Communicator& ranks) {
    test::CountingCommunicator counting(ranks);
    BlockNet net;
    const auto strategy = make_zero2({}, counting);
    strategy->prepare(net, block_net_rules());
    const auto num_reductions = [&] {
      counting.take_calls();
      test::ragged_step(*strategy, net, Share(ranks.rank(), 2), 1);
      return std::ranges::count(counting.take_calls(), comm::CollectiveKind::kReduceScatter,
                                &test::CountedCall::kind);
    };
    EXPECT_EQ(num_reductions(), 5) << "four blocks and the rest";
    strategy->set_trainable(is_elsewhere);
    EXPECT_EQ(num_reductions(), 3);
    strategy->set_trainable([](const std::string& name) { return name != "block2.up"; });
    EXPECT_EQ(num_reductions(), 5) << "of block2 the rest";
    const at::Tensor norm = grad_norm(*strategy);
    EXPECT_TRUE(norm.isfinite().item<bool>());
  });
}

TEST(TrainableZero, FreezesAnyParameter) {
  const auto run = [](Training& training) {
    training.run(3);
    training->set_trainable(
        [](const std::string& name) { return name != "block2.up" && name != "stem"; });
    training.run(4);
  };
  const Tensors wanted = alone(run);
  for (const auto& name : {"zero1", "zero2", "ddp"}) {
    SCOPED_TRACE(name);
    run_ranks(3, [&](comm::Communicator& ranks) {
      Training training(test::main_strategies().at(name)(ranks), ranks);
      run(training);
      expect_near(training, wanted);
    });
  }
}

// The last of eight ranks has none of thirteen samples, and backward passes nothing that it could
// learn the way of the others' from: below the first trained block they gather nothing.
TEST(TrainableFsdp, ARankWithoutSamplesGathersAsItsPeersDo) {
  const auto run = [](Training& training) {
    training.run(2);
    training->set_trainable([](const std::string& name) {
      return name.starts_with("block2") || name.starts_with("block3");
    });
    training.run(3);
    training->set_trainable(is_any);
    training.run(2);
  };
  const Tensors wanted = alone(run);
  for (const auto& name : {"fsdp", "zero2"}) {
    SCOPED_TRACE(name);
    run_ranks(8, [&](comm::Communicator& ranks) {
      Training training(test::main_strategies().at(name)(ranks), ranks);
      run(training);
      expect_near(training, wanted);
    });
  }
}

TEST(TrainableFsdp, RefusesAPartOfAUnitAndChangesNothing) {
  for (const auto& name : {"fsdp", "hsdp"}) {
    run_ranks(2, [&](comm::Communicator& ranks) {
      Training training(test::main_strategies().at(name)(ranks), ranks);
      EXPECT_THAT(
          [&] {
            training->set_trainable(
                [](const std::string& of) { return of != "block2.up" && is_elsewhere(of); });
          },
          ThrowsMessage<base::ConfigError>(
              AllOf(HasSubstr("whole units, and of unit 'block2' it would freeze 'block2.up' but "
                              "not 'block2.bias', 'block2.down'"),
                    HasSubstr("parallel.strategy zero2"))));
      for (const NamedTensor& parameter : training->parameters())
        EXPECT_TRUE(parameter.tensor.requires_grad()) << parameter.name;
      training.run(1);
    });
  }
}

TEST(TrainableDdp, RefusesWhatRemembersTheParametersOfAStep) {
  const std::map<std::string, DdpConfig> configs{
      {"static_graph", {.static_graph = true}},
      {"powersgd", {.compression = Compression::kPowerSgd}}};
  for (const auto& [name, config] : configs) {
    run_ranks(2, [&, &name = name, &config = config](comm::Communicator& ranks) {
      Training training(make_ddp(config, ranks), ranks);
      training->set_trainable(is_any);
      EXPECT_THAT([&] { training->set_trainable(is_elsewhere); },
                  ThrowsMessage<base::ConfigError>(HasSubstr(name)));
      training.run(1);
    });
  }
}

TEST(TrainableDdp, StillNamesWhatItMissesOfTheOthers) {
  run_ranks(2, [](comm::Communicator& ranks) {
    BlockNet net;
    const auto strategy = make_ddp({}, ranks);
    strategy->prepare(net, block_net_rules());
    strategy->set_trainable(is_elsewhere);
    strategy->begin_microbatch(true, true);
    strategy->backward(net.head.sum(), 1.0);
    EXPECT_THAT([&] { test::finish_step(*strategy, &ranks); },
                ThrowsMessage<base::ConfigError>(
                    AllOf(HasSubstr("'stem'"), testing::Not(HasSubstr("block1")))));
  });
}

}  // namespace
}  // namespace paceline::parallel
