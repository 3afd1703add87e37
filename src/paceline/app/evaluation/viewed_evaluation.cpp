#include "paceline/app/evaluation/viewed_evaluation.h"

#include "paceline/app/evaluation/class_map.h"
#include "paceline/app/evaluation/eval_transforms.h"
#include "paceline/app/evaluation/network_of_views.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/error.h"
#include "paceline/config/bind.h"
#include "paceline/data/dataset/class_alignment.h"
#include "paceline/nn/losses.h"
#include "paceline/train/tasks/classification.h"

#include <algorithm>
#include <utility>

namespace paceline::app {
namespace {

/// A recipe's task over a network that is there.
class PartsOfViews final : public train::TaskParts {
 public:
  PartsOfViews(std::shared_ptr<nn::Network> network, std::shared_ptr<nn::Loss> loss)
      : network_(std::move(network)), loss_(std::move(loss)) {}
  using TaskParts::make_network;
  std::shared_ptr<nn::Network> make_network(std::optional<int>) override { return network_; }
  std::shared_ptr<nn::Loss> make_loss() override { return loss_; }

 private:
  std::shared_ptr<nn::Network> network_;
  std::shared_ptr<nn::Loss> loss_;
};

config::Component bound_transform(const data::TransformConfig& transform,
                                  const Registries& registries) {
  config::Node options = transform->written();
  options.erase("name");
  return config::bind_component(*registries.transforms.find(transform->name()), options,
                                registries.context(/*world_size=*/0));
}

std::shared_ptr<nn::Network> shared(nn::Network& network) {
  return std::dynamic_pointer_cast<nn::Network>(network.shared_from_this());
}

}  // namespace

std::unique_ptr<data::Dataset> ViewedEvaluation::map_classes(
    std::unique_ptr<data::Dataset> dataset, const std::vector<std::string>& class_names) {
  ClassMap map = read_class_map(views_.class_map, dataset->class_names(), class_names);
  model_classes_ = std::move(map.model_classes);
  return data::align_classes(std::move(dataset), map.data_classes);
}

EvalRequest ViewedEvaluation::adapted(EvalRequest request) {
  if (views_.size || views_.crop_pct) {
    request.adapt = [this, before = request.adapt](Recipe& recipe) {
      if (before) before(recipe);
      const auto changed =
          with_views(transforms_of(recipe.data, registries_, data::Split::kVal), views_);
      recipe.data.eval_transforms.clear();
      for (const data::TransformConfig& transform : changed)
        recipe.data.eval_transforms.push_back(bound_transform(transform, registries_));
    };
  }
  if (views_.shift > 0 && views_.ten_crop)
    throw base::ConfigError(
        "--shift moves the one piece of each image that is seen: leave out --ten-crop");
  request.num_views = (views_.ten_crop ? 5 : 1) * (views_.flip || views_.ten_crop ? 2 : 1) *
                      (views_.shift > 0 ? 3 : 1);
  if (views_.ten_crop) {
    request.make_samples = [this](const Recipe& recipe) {
      return make_five_crops(transforms_of(recipe.data, registries_, data::Split::kVal),
                             recipe.train.channels_last);
    };
  }
  if (!views_.class_map.empty()) {
    request.align = [this](std::unique_ptr<data::Dataset> dataset,
                           const std::vector<std::string>& class_names) {
      return map_classes(std::move(dataset), class_names);
    };
  }
  return request;
}

std::unique_ptr<train::Task> ViewedEvaluation::make_task(LoadedCheckpoint& loaded) const {
  if (!views_.change_logits()) return nullptr;
  std::shared_ptr<nn::Loss> loss = registries_.losses.build(loaded.recipe.loss);
  LogitViews views{views_.flip || views_.ten_crop, views_.shift, views_.temperature, {}};
  if (!views_.class_map.empty()) {
    views.classes = model_classes_;
    loss->check_num_outputs(std::ssize(model_classes_));
  }
  PartsOfViews parts(
      std::make_shared<NetworkOfViews>(shared(loaded.state.task->network()), std::move(views)),
      std::move(loss));
  auto task = registries_.tasks.build(loaded.recipe.task, parts);
  const auto* const of_classes = dynamic_cast<const train::ClassificationTask*>(task.get());
  const bool has_groups =
      std::ranges::any_of(model_classes_, [](const auto& classes) { return classes.size() > 1; });
  if (of_classes != nullptr && has_groups && !of_classes->tells_one_class())
    throw base::ConfigError(fmt::format(
        "--class-map {}: a class of the data is several of the model's, whose probabilities have a "
        "mean where one class excludes the others, and task {} tells each for itself: name one",
        views_.class_map.string(), loaded.recipe.task.name));
  if (of_classes == nullptr)
    throw base::ConfigError(
        fmt::format("--flip, --ten-crop, --shift, --temperature and --class-map change the logits "
                    "of a classification, "
                    "and the recipe's task is {}: leave them out",
                    loaded.recipe.task.name));
  return task;
}

}  // namespace paceline::app
