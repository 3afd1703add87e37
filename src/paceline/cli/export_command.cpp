#include "paceline/app/evaluation/eval_run.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"

namespace paceline::cli {

int run_export(const std::vector<std::string>& arguments, const app::Registries& registries) {
  std::filesystem::path source;
  std::filesystem::path output;
  std::string format = "safetensors";
  std::string weights;
  CLI::App app("Write the weights of a checkpoint for other programs.", "export");
  app.add_option("run", source, "RUN (its newest checkpoint), RUN@best, RUN@step-N or a checkpoint")
      ->required();
  app.add_option("--format", format, "safetensors, with the names of torchvision or timm")
      ->check(CLI::IsMember({"safetensors"}));
  app.add_option("--weights", weights,
                 "Of an algorithm that keeps some besides the trained ones: ema");
  app.add_option("-o,--output", output, "The file to write")->required();
  if (!parse_arguments(app, arguments, registries)) return 0;
  refuse_other_format(
      output, ".safetensors", "safetensors is what is written",
      {".pt", ".pth", ".bin", ".ckpt", ".onnx", ".yaml", ".json", ".h5", ".pkl", ".pb"});
  base::RealFileSystem files;
  const app::ExportReport report = app::export_checkpoint(source, weights, output, files);
  const std::string value = report.monitored ? fmt::format(" ({} {:.4f})", report.monitored->name,
                                                           report.monitored->value)
                                             : "";
  base::log_info("wrote {}: the {} weights after step {}{}, from {}", output.string(),
                 weights.empty() ? "model's" : weights + "'s", report.step, value,
                 report.checkpoint.string());
  for (const checkpoint::Surgery& surgery : report.surgery) {
    base::log_warning(
        "the model of torchvision or timm computes something else with these weights: their "
        "network was changed by {}. model.pretrained={} rebuilds it",
        describe(surgery), output.string());
  }
  return 0;
}

}  // namespace paceline::cli
