#pragma once

#include "paceline/config/bind.h"
#include "paceline/config/parse.h"
#include "paceline/config/registry.h"
#include "paceline/config/schema.h"

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::config::test {

enum class Precision { kFp32, kBf16 };

struct SgdOptions {
  double lr = 0.1;
  double momentum = 0.9;
  bool nesterov = false;
};

struct AdamWOptions {
  double lr = 1e-3;
  std::vector<double> betas = {0.9, 0.999};
};

struct FolderOptions {
  std::string path;
};

struct CifarOptions {
  int num_classes = 10;
};

struct MixUpOptions {
  double alpha = 0.2;
};

struct EmaOptions {
  Duration half_life = {50, TimeUnit::kBatch};
};

struct LoggerOptions {
  int interval = 10;
};

struct ResizeOptions {
  int size = 256;
};

struct TrainSection {
  DurationList duration = {{{90, TimeUnit::kEpoch}}};
  Precision precision = Precision::kFp32;
  int grad_accum_steps = 1;
  std::optional<double> grad_clip_norm;
  std::array<double, 3> mean = {0.5, 0.5, 0.5};
  std::map<std::string, int> limits;
};

struct DataSection {
  Component source = {"folder"};
  std::optional<std::int64_t> global_batch_size;
  std::optional<std::int64_t> batch_size_per_rank;
  std::vector<Component> transforms;
};

struct RunSection {
  std::string name = "run";
  std::uint64_t seed = 1;
};

/// A recipe with one of everything that recipes are made of.
struct Recipe {
  RunSection run;
  DataSection data;
  TrainSection train;
  Component optimizer = {"sgd"};
  ComponentMap algorithms;
  ComponentMap loggers = {{"console", {"console"}}, {"jsonl", {"jsonl"}}};
};

/// What an optimizer of the tests is: its own description.
struct Product {
  std::string text;
};

}  // namespace paceline::config::test

namespace paceline::config {

template <>
struct EnumNames<test::Precision> {
  static constexpr std::array names{EnumName{test::Precision::kFp32, "fp32"},
                                    EnumName{test::Precision::kBf16, "bf16"}};
};

template <>
struct Schema<test::SgdOptions> {
  using Options = test::SgdOptions;
  static constexpr std::string_view name = "sgd";
  static constexpr std::string_view summary = "Stochastic gradient descent.";
  static constexpr std::string_view paper = "Robbins and Monro, 1951";
  static constexpr auto fields =
      std::tuple{field(&Options::lr, "lr", "Base learning rate.", AtLeast{0}),
                 field(&Options::momentum, "momentum", "Momentum factor.", InRange{0, 1}),
                 field(&Options::nesterov, "nesterov", "Look ahead.")};
  static void validate(const Options& options, Problems& problems) {
    if (options.nesterov && options.momentum == 0) {
      problems.add("nesterov", "needs momentum; set optimizer.momentum or leave nesterov out");
    }
  }
};

template <>
struct Schema<test::AdamWOptions> {
  using Options = test::AdamWOptions;
  static constexpr std::string_view name = "adamw";
  static constexpr std::string_view summary = "Adam with decoupled weight decay.";
  static constexpr auto fields =
      std::tuple{field(&Options::lr, "lr", "Base learning rate.", AtLeast{0}),
                 field(&Options::betas, "betas", "Decay of the moments.", AtLeast{0}, LessThan{1},
                       NotEmpty{})};
};

template <>
struct Schema<test::FolderOptions> {
  static constexpr std::string_view name = "folder";
  static constexpr std::string_view summary = "A folder per class.";
  static constexpr auto fields =
      std::tuple{field(&test::FolderOptions::path, "path", "The folder that holds train and val.",
                       Required{}, NotEmpty{}, MayChangeOnResume{})};
};

template <>
struct Schema<test::CifarOptions> {
  static constexpr std::string_view name = "cifar";
  static constexpr std::string_view summary = "Small images.";
  static constexpr auto fields =
      std::tuple{field(&test::CifarOptions::num_classes, "num_classes", "10 or 100.")};
};

template <>
struct Schema<test::MixUpOptions> {
  static constexpr std::string_view name = "mixup";
  static constexpr std::string_view summary = "Mixes pairs of images.";
  static constexpr auto fields =
      std::tuple{field(&test::MixUpOptions::alpha, "alpha", "Beta's parameter.", MoreThan{0})};
};

template <>
struct Schema<test::EmaOptions> {
  static constexpr std::string_view name = "ema";
  static constexpr std::string_view summary = "Averages the weights.";
  static constexpr auto fields = std::tuple{
      field(&test::EmaOptions::half_life, "half_life", "Time to forget half.", MoreThan{0})};
};

template <>
struct Schema<test::LoggerOptions> {
  static constexpr std::string_view name = "logger";
  static constexpr std::string_view summary = "Writes metrics.";
  static constexpr auto fields = std::tuple{
      field(&test::LoggerOptions::interval, "interval", "Steps between lines.", AtLeast{1})};
};

template <>
struct Schema<test::ResizeOptions> {
  static constexpr std::string_view name = "resize";
  static constexpr std::string_view summary = "Resizes the shorter side.";
  static constexpr auto fields =
      std::tuple{field(&test::ResizeOptions::size, "size", "Pixels.", AtLeast{1})};
};

template <>
struct Schema<test::TrainSection> {
  using Section = test::TrainSection;
  static constexpr std::string_view name = "train";
  static constexpr std::string_view summary = "The training loop.";
  static constexpr auto fields = std::tuple{
      field(&Section::duration, "duration", "How long to train.", MoreThan{0}, MayChangeOnResume{}),
      field(&Section::precision, "precision", "Type of the activations."),
      field(&Section::grad_accum_steps, "grad_accum_steps", "Microbatches per step.", AtLeast{1}),
      field(&Section::grad_clip_norm, "grad_clip_norm", "Largest norm of the gradient.",
            MoreThan{0}),
      field(&Section::mean, "mean", "Mean of the channels."),
      field(&Section::limits, "limits", "Limits by name.", AtLeast{0})};
};

template <>
struct Schema<test::DataSection> {
  using Section = test::DataSection;
  static constexpr std::string_view name = "data";
  static constexpr std::string_view summary = "The images.";
  static constexpr auto fields = std::tuple{
      inline_component(&Section::source, "dataset", "The data set."),
      field(&Section::global_batch_size, "global_batch_size", "Samples per step.", AtLeast{1}),
      field(&Section::batch_size_per_rank, "batch_size_per_rank", "Samples per step and rank.",
            AtLeast{1}),
      of_kind("transform", component(&Section::transforms, "transforms", "Transforms in order."))};
  static void validate(const Section& section, Problems& problems) {
    if (section.global_batch_size && section.batch_size_per_rank) {
      problems.add("batch_size_per_rank",
                   "the batch is given twice; remove this or global_batch_size");
    }
  }
};

template <>
struct Schema<test::RunSection> {
  static constexpr std::string_view name = "run";
  static constexpr std::string_view summary = "The run.";
  static constexpr auto fields = std::tuple{
      field(&test::RunSection::name, "name", "Its name.", NotEmpty{}, MayChangeOnResume{}),
      field(&test::RunSection::seed, "seed", "Of every draw.")};
};

template <>
struct Schema<test::Recipe> {
  using Recipe = test::Recipe;
  static constexpr std::string_view name = "recipe";
  static constexpr std::string_view summary = "A training run.";
  static constexpr auto fields = std::tuple{
      field(&Recipe::run, "run", "The run."),
      field(&Recipe::data, "data", "The images."),
      field(&Recipe::train, "train", "The training loop."),
      component(&Recipe::optimizer, "optimizer", "What turns gradients into updates."),
      component_map(&Recipe::algorithms, "algorithms", "What changes the loop."),
      component_map(&Recipe::loggers, "loggers", "Where metrics go.", MayChangeOnResume{})};
};

}  // namespace paceline::config

namespace paceline::config::test {

/// Another program's `max_epochs`, `lr` without a section, and precision `bf16-mixed`.
class TestForeignNames final : public ForeignNames {
 public:
  std::optional<std::string> key_advice(std::string_view section, std::string_view key,
                                        const Node& value, int world_size) const override {
    const std::string given = value.text.empty() ? "VALUE" : value.text;
    if (key == "max_epochs")
      return fmt::format("write train.duration={}ep ({} ranks)", given, world_size);
    if (key == "lr" && section.empty()) return "write optimizer.lr=" + given;
    return std::nullopt;
  }
  std::optional<std::string> translate(std::string_view key,
                                       std::string_view value) const override {
    const bool is_known = key == "train.precision" && value == "bf16-mixed";
    return is_known ? std::optional("bf16") : std::nullopt;
  }
};

/// The catalogs of the recipe above.
struct TestCatalogs {
  Registry<Product> datasets{"dataset"};
  Registry<Product, int> optimizers{"optimizer"};
  Registry<Product> transforms{"transform"};
  Registry<Product> algorithms{"algorithms"};
  Registry<Product> loggers{"loggers"};

  TestCatalogs() {
    datasets.add<FolderOptions>(nullptr);
    datasets.add<CifarOptions>(nullptr);
    datasets.add<CifarOptions>("cifar100", "Small images of 100 classes.", {.num_classes = 100},
                               nullptr);
    optimizers.add<SgdOptions>([](const SgdOptions& options, int count) {
      return std::make_unique<Product>(Product{fmt::format("sgd {} {}", options.lr, count)});
    });
    optimizers.add<AdamWOptions>(nullptr);
    transforms.add<ResizeOptions>(nullptr);
    algorithms.add<MixUpOptions>(nullptr);
    algorithms.add<EmaOptions>(nullptr);
    for (const char* name : {"console", "jsonl", "tensorboard"}) {
      loggers.add<LoggerOptions>(name, "Writes metrics.", {}, nullptr);
    }
  }

  BindContext context(int world_size = 0) const {
    return {{{"dataset", &datasets},
             {"optimizer", &optimizers},
             {"transform", &transforms},
             {"algorithms", &algorithms},
             {"loggers", &loggers}},
            world_size,
            &foreign_names};
  }

  TestForeignNames foreign_names;
};

/// The catalogs outlive what is bound with them.
inline const TestCatalogs& catalogs() {
  static const TestCatalogs instance;
  return instance;
}

inline Recipe bind_yaml(std::string_view yaml, int world_size = 0) {
  return bind<Recipe>(parse_yaml(yaml, "recipe.yaml"), catalogs().context(world_size));
}

/// The message of the ConfigError that a call throws; "no error" if it throws none.
template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const base::ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace paceline::config::test
