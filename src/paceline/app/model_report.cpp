#include "paceline/app/model_report.h"

#include "paceline/app/recipe/recipe.h"
#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/config/load.h"
#include "paceline/nn/image_network.h"
#include "paceline/nn/module_tree.h"
#include "paceline/pretrained/torchvision_weights.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace paceline::app {

/// A recipe of which only the model is asked about.
struct ModelQuestion {
  ModelSection model;
};

}  // namespace paceline::app

template <>
struct paceline::config::Schema<paceline::app::ModelQuestion> {
  static constexpr std::string_view name = "model question";
  static constexpr std::string_view summary = "A recipe's model.";
  static constexpr auto fields =
      std::tuple{field(&app::ModelQuestion::model, "model", "The network.")};
};

namespace paceline::app {
namespace {

std::unique_ptr<nn::Network> build_model(const std::string& name,
                                         const std::vector<std::string>& options,
                                         const Registries& registries) {
  config::Overrides overrides({"model.name=" + name});
  for (const std::string& option : options)
    overrides.of_user.push_back(option.starts_with("model.") ? option : "model." + option);
  config::Problems problems;
  config::Node question = config::Node::map();
  config::override_recipe(question, overrides, config::describe<ModelQuestion>(), problems);
  problems.throw_if_any();
  const auto asked = config::bind<ModelQuestion>(question, registries.context(/*world_size=*/0));
  return registries.models.build(asked.model.network);
}

/// "Conv2d" of paceline::nn::Conv2d; nothing for a module of no kind.
std::string type_of(const torch::nn::Module& module) {
  const std::string& name = module.name();
  const std::string type = name.substr(name.rfind(':') + 1);
  return type == "Module" ? "" : type;
}

LayerReport report_of(const std::string& name, const torch::nn::Module& module,
                      std::span<const nn::LayerCost> costs) {
  LayerReport layer;
  layer.name = name;
  layer.type = type_of(module);
  for (const auto& parameter : module.named_parameters(/*recurse=*/false))
    layer.parameters.emplace_back(parameter.key(), parameter.value().sizes().vec());
  for (const nn::LayerCost& cost : costs) {
    if (cost.layer != &module) continue;
    layer.flops += cost.flops;
    layer.output = cost.output;
  }
  return layer;
}

ModelReport report_of(const nn::Network& network, std::optional<nn::ImageSize> size,
                      bool with_layers) {
  ModelReport report;
  for (const nn::NamedTensor& parameter : nn::named_parameters(network))
    report.num_parameters += parameter.tensor.numel();
  nn::LayerCosts costs;
  if (const auto* counted = dynamic_cast<const nn::CountedImageNetwork*>(&network)) {
    report.image_size = size.value_or(counted->usual_size());
    report.in_channels = counted->in_channels().value_or(report.in_channels);
    counted->count_image(*report.image_size, costs);
    report.flops = costs.flops();
    report.activations = costs.activations();
  }
  if (!with_layers) return report;
  const auto add = [&](const std::string& name, const torch::nn::Module& module) {
    LayerReport layer = report_of(name, module, costs.layers());
    if (!layer.parameters.empty() || layer.flops > 0) report.layers.push_back(std::move(layer));
  };
  add("", network);
  for (const auto& module : network.named_modules("", /*include_self=*/false))
    add(module.key(), *module.value());
  return report;
}

std::string sizes_text(std::span<const std::int64_t> sizes) {
  return fmt::format("{}", fmt::join(sizes, "x"));
}

std::string parameters_text(const LayerReport& layer) {
  std::vector<std::string> texts;
  for (const auto& [name, sizes] : layer.parameters)
    texts.push_back(fmt::format("{} {}", name, sizes_text(sizes)));
  return base::join(texts, ", ");
}

nlohmann::json sums_of(const ModelReport& report) {
  nlohmann::json json = {
      {"name", report.name},   {"summary", report.summary}, {"parameters", report.num_parameters},
      {"image_size", nullptr}, {"gflops", nullptr},         {"activations", nullptr}};
  if (report.image_size) {
    json["image_size"] = {report.in_channels, report.image_size->height, report.image_size->width};
    json["gflops"] = report.flops / 1e9;
    json["activations"] = report.activations;
  }
  return json;
}

/// What model.pretrained may name for a model, of what torchvision publishes.
nlohmann::json known_weights_of(const std::string& model) {
  nlohmann::json list = nlohmann::json::array();
  for (const pretrained::TorchvisionWeights& weights : pretrained::torchvision_weights()) {
    if (weights.model != model) continue;
    list.push_back({{"pretrained", pretrained::describe(weights)},
                    {"top1", weights.top1},
                    {"is_default", weights.is_default}});
  }
  return list;
}

nlohmann::json json_of(const LayerReport& layer) {
  nlohmann::json parameters = nlohmann::json::object();
  for (const auto& [name, sizes] : layer.parameters) parameters[name] = sizes;
  return {{"name", layer.name},
          {"type", layer.type},
          {"shapes", std::move(parameters)},
          {"parameters", layer.num_parameters()},
          {"output", layer.output},
          {"flops", layer.flops}};
}

/// The rows as lines, whose columns are as wide as what is in them.
std::vector<std::string> aligned(const std::vector<std::array<std::string, 6>>& rows) {
  std::array<std::size_t, 6> widths{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    const auto& [name, type, output, parameters, flops, shapes] = row;
    lines.push_back(fmt::format("{:<{}}  {:<{}}  {:>{}}  {:>{}}  {:>{}}  {}", name, widths[0], type,
                                widths[1], output, widths[2], parameters, widths[3], flops,
                                widths[4], shapes));
  }
  return lines;
}

}  // namespace

std::int64_t LayerReport::num_parameters() const {
  std::int64_t total = 0;
  for (const auto& parameter : parameters) total += c10::multiply_integers(parameter.second);
  return total;
}

ModelReport describe_model(const std::string& name, const std::vector<std::string>& options,
                           std::optional<nn::ImageSize> size, const Registries& registries) {
  const auto network = build_model(name, options, registries);
  ModelReport report = report_of(*network, size, /*with_layers=*/true);
  if (size && !report.image_size) {
    throw base::ConfigError(
        fmt::format("--size: {} does not tell what its layers cost, for any size", name));
  }
  report.name = name;
  report.summary = registries.models.find(name)->summary;
  return report;
}

std::vector<std::string> model_table(const ModelReport& report) {
  std::vector<std::array<std::string, 6>> rows{
      {"layer", "type", "output", "parameters", "MFLOPs", "shapes"}};
  for (const LayerReport& layer : report.layers) {
    const bool is_counted = layer.flops > 0;
    rows.push_back(
        {layer.name.empty() ? report.name : layer.name, layer.type,
         is_counted ? sizes_text(layer.output) : "", base::format_count(layer.num_parameters()),
         is_counted ? fmt::format("{:.2f}", layer.flops / 1e6) : "", parameters_text(layer)});
  }
  std::vector<std::string> lines = aligned(rows);
  std::string sum =
      fmt::format("{}: {} parameters", report.name, base::format_count(report.num_parameters));
  if (report.image_size) {
    sum += fmt::format(
        ", {:.3f} GFLOPs ({:.3f} G multiply-accumulates) and {:.2f} M activations for an image of "
        "{}x{}x{}",
        report.flops / 1e9, report.flops / 2e9, report.activations / 1e6, report.in_channels,
        report.image_size->height, report.image_size->width);
  }
  lines.push_back(std::move(sum));
  return lines;
}

std::string model_json(const ModelReport& report) {
  nlohmann::json json = sums_of(report);
  json["layers"] = nlohmann::json::array();
  for (const LayerReport& layer : report.layers) json["layers"].push_back(json_of(layer));
  return json.dump(2);
}

std::string models_json(const Registries& registries) {
  nlohmann::json models = nlohmann::json::array();
  for (const auto& [name, entry] : registries.models.entries()) {
    const auto network = build_model(name, {}, registries);
    ModelReport report = report_of(*network, std::nullopt, /*with_layers=*/false);
    report.name = name;
    report.summary = entry.summary;
    nlohmann::json json = sums_of(report);
    json["weights"] = known_weights_of(name);
    models.push_back(std::move(json));
  }
  return models.dump(2);
}

}  // namespace paceline::app
