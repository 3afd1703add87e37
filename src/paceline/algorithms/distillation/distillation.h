#pragma once

#include "paceline/config/schema.h"
#include "paceline/nn/network.h"
#include "paceline/parallel/frozen_module.h"
#include "paceline/train/algorithm.h"

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

namespace paceline::algorithms {

/// What a student learns of its teacher.
enum class DistilledTargets {
  kSoft,  ///< its probabilities for all classes
  kHard,  ///< the class that it finds the likeliest
};

struct DistillationConfig {
  config::Component teacher;
  std::string weights;
  DistilledTargets targets = DistilledTargets::kSoft;
  double alpha = 0.5;
  double temperature = 1.0;
};

/// The loss of a student's logits [N, classes] against its teacher's, summed over samples: T² times
/// the Kullback-Leibler divergence of the teacher's probabilities from the student's, both of
/// logits / T; or cross entropy with the teacher's likeliest class. In float32 at least.
at::Tensor distillation_loss(const at::Tensor& student, const at::Tensor& teacher,
                             DistilledTargets targets, double temperature);

/// Has the network learn also from what a frozen network of `weights`, in evaluation mode, makes of
/// the same images, mixed ones included: loss = (1 - alpha) loss + alpha distillation_loss().
/// Where the strategy gathers parameters unit by unit (fsdp, hsdp), the teacher's are cut and
/// gathered so as well; elsewhere every rank holds all of them. Papers: Hinton et al., "Distilling
/// the knowledge in a neural network", 2015; Touvron et al., "Training data-efficient image
/// transformers", 2021 (hard).
class Distillation final : public train::Algorithm {
 public:
  using MakeTeacher = std::function<std::unique_ptr<nn::Network>(const config::Component&)>;

  Distillation(const DistillationConfig& config, MakeTeacher make_teacher)
      : config_(config), make_teacher_(std::move(make_teacher)) {}

  std::string_view name() const override { return "distillation"; }
  train::AlgorithmTraits traits() const override {
    using enum train::Event;
    return {.events = {kPrepared, kAfterLoss}, .replaces_loss = true, .may_come_or_go = true};
  }
  void apply(train::Event event, train::TrainState& state, const train::RunContext& run) override;
  void forward_nothing() override { held_->forward_nothing(); }
  /// The teacher's weights that lie on this rank, and what is gathered of them.
  std::uint64_t copied_bytes(const train::TrainState& state,
                             const train::FieldBytes& field_bytes) const override;

 private:
  void load_teacher(train::TrainState& state, const train::RunContext& run);

  DistillationConfig config_;
  MakeTeacher make_teacher_;
  std::unique_ptr<nn::Network> teacher_;          ///< from kPrepared on
  std::unique_ptr<parallel::FrozenModule> held_;  ///< it, likewise
};

std::unique_ptr<train::Algorithm> make(const DistillationConfig& config,
                                       Distillation::MakeTeacher make_teacher);

}  // namespace paceline::algorithms

template <>
struct paceline::config::EnumNames<paceline::algorithms::DistilledTargets> {
  static constexpr std::array names{
      EnumName{paceline::algorithms::DistilledTargets::kSoft, "soft"},
      EnumName{paceline::algorithms::DistilledTargets::kHard, "hard"},
  };
};

template <>
struct paceline::config::Schema<paceline::algorithms::DistillationConfig> {
  using Config = paceline::algorithms::DistillationConfig;
  static constexpr std::string_view name = "distillation";
  static constexpr std::string_view summary =
      "Learns also from what a trained network makes of the images.";
  static constexpr std::string_view paper =
      "Hinton et al., Distilling the knowledge in a neural network, 2015";
  static constexpr auto fields = std::tuple{
      of_kind("model", component(&Config::teacher, "teacher",
                                 "The network that is learnt from: {name: resnet50, num_classes: "
                                 "10}.",
                                 Required{})),
      field(&Config::weights, "weights", "The teacher's weights: a file or a checkpoint.", Path{},
            Required{}),
      field(&Config::targets, "targets",
            "soft: its probabilities; hard: the class that it finds the likeliest."),
      field(&Config::alpha, "alpha", "Share of the teacher in the loss.", InRange{0, 1},
            MayChangeOnResume{}),
      field(&Config::temperature, "temperature",
            "What soft targets' logits are divided by, of both networks.", MoreThan{0},
            AtMost{1000, "then all classes are told alike"}, MayChangeOnResume{})};
};
