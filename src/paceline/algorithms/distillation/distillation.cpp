#include "paceline/algorithms/distillation/distillation.h"

#include "paceline/base/error.h"
#include "paceline/checkpoint/weights/weights.h"
#include "paceline/nn/adaptation/find_adaptation.h"
#include "paceline/nn/module_tree.h"
#include "paceline/nn/network_parts.h"
#include "paceline/train/run_context.h"
#include "paceline/train/tasks/classification.h"
#include "paceline/train/train_state.h"

#include <optional>
#include <utility>

namespace paceline::algorithms {
namespace {

checkpoint::WeightImport open_weights(const nn::Network& teacher, const std::string& path) {
  checkpoint::WeightImport import(path, checkpoint::named_tensors(teacher), teacher.head_names(),
                                  {.adaptation_of = nn::find_adaptation(teacher)});
  if (import.lacks_head()) {
    throw base::ConfigError(fmt::format(
        "algorithms.distillation.weights: {} has no classifier of as many classes as the teacher: "
        "set algorithms.distillation.teacher.num_classes to what it was trained for",
        path));
  }
  return import;
}

void check_classes(const nn::Network& student, const nn::Network& teacher) {
  const std::optional<std::int64_t> wanted = nn::num_outputs(student);
  const std::optional<std::int64_t> got = nn::num_outputs(teacher);
  if (!wanted || !got || *wanted == *got) return;
  throw base::ConfigError(
      fmt::format("algorithms.distillation.teacher: tells {} classes apart, and the network that "
                  "learns {}: both must know the same",
                  *got, *wanted));
}

}  // namespace

at::Tensor distillation_loss(const at::Tensor& student, const at::Tensor& teacher,
                             DistilledTargets targets, double temperature) {
  const at::ScalarType dtype = student.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  if (targets == DistilledTargets::kHard) {
    return at::cross_entropy_loss(student.to(dtype), teacher.argmax(1), {}, at::Reduction::Sum);
  }
  const auto log_probabilities = [&](const at::Tensor& logits) {
    return at::log_softmax(logits.to(dtype) / temperature, 1);
  };
  return temperature * temperature *
         at::kl_div(log_probabilities(student), log_probabilities(teacher), at::Reduction::Sum,
                    /*log_target=*/true);
}

void Distillation::apply(train::Event event, train::TrainState& state,
                         const train::RunContext& run) {
  if (event == train::Event::kPrepared) {
    load_teacher(state, run);
    return;
  }
  const nn::ForwardContext context{run.seed, state.clock.step, state.batch.first_position};
  at::Tensor told;
  {
    const at::NoGradGuard no_grad;
    held_->begin_forward();
    told = teacher_->forward(state.batch.fields, context);
    held_->end_forward();
  }
  state.loss = (1.0 - config_.alpha) * state.loss +
               config_.alpha * distillation_loss(state.outputs.at(train::kLogits), told,
                                                 config_.targets, config_.temperature);
}

void Distillation::load_teacher(train::TrainState& state, const train::RunContext& run) {
  const auto* const task = dynamic_cast<const train::ClassificationTask*>(&*state.task);
  if (task == nullptr || !task->tells_one_class()) {
    throw base::ConfigError(
        "algorithms.distillation compares the logits of task classification, and this run has "
        "another task: leave it out");
  }
  teacher_ = make_teacher_(config_.teacher);
  check_classes(state.task->network(), *teacher_);
  const checkpoint::WeightImport weights = open_weights(*teacher_, config_.weights);
  nn::defer_values(*teacher_);
  const auto student = nn::named_parameters(state.task->network());
  if (!student.empty() && student.front().tensor.scalar_type() == at::kDouble)
    nn::set_dtype(*teacher_, at::kDouble);
  nn::set_device(*teacher_, run.device.place());
  nn::set_training(*teacher_, false);
  for (const nn::NamedTensor& named : nn::state_dict(*teacher_)) {
    if (named.is_parameter) {
      named.tensor.set_requires_grad(false);
    } else {
      weights.copy(named.name, named.tensor);
    }
  }
  held_ = state.strategy->hold_frozen(*teacher_, [&](const nn::NamedTensor& parameter) {
    PACELINE_CHECK(weights.copy(parameter.name, parameter.tensor), "no weights for '{}'",
                   parameter.name);
  });
}

std::uint64_t Distillation::copied_bytes(const train::TrainState& /*state*/,
                                         const train::FieldBytes& /*field_bytes*/) const {
  return held_->bytes();
}

std::unique_ptr<train::Algorithm> make(const DistillationConfig& config,
                                       Distillation::MakeTeacher make_teacher) {
  return std::make_unique<Distillation>(config, std::move(make_teacher));
}

}  // namespace paceline::algorithms
