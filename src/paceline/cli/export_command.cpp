#include "paceline/app/export/export_run.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/commands.h"

namespace paceline::cli {

namespace {

/// A format, and the names of files that promise another one.
void check_output(const std::string& format, const std::filesystem::path& output) {
  if (format == "safetensors") {
    refuse_other_format(
        output, ".safetensors", "safetensors is what is written: --format pt, hf",
        {".pt", ".pth", ".bin", ".ckpt", ".onnx", ".yaml", ".json", ".h5", ".pkl", ".pb"});
  } else if (format == "pt") {
    refuse_other_format(output, ".pt", "a file of torch.save is what is written",
                        {".safetensors", ".onnx", ".yaml", ".json", ".h5", ".pkl", ".pb"});
  } else {
    refuse_other_format(output, "", "a folder is what is written",
                        {".safetensors", ".pt", ".pth", ".bin", ".json", ".md"});
  }
}

}  // namespace

int run_export(const std::vector<std::string>& arguments, const app::Registries& registries) {
  std::filesystem::path source;
  std::filesystem::path output;
  std::string format = "safetensors";
  std::string weights;
  CLI::App app("Write the weights of a checkpoint for other programs.", "export");
  app.add_option("run", source, "RUN (its newest checkpoint), RUN@best, RUN@step-N or a checkpoint")
      ->required();
  app.add_option(
         "--format", format,
         "With the names of torchvision or timm: safetensors; pt, a file of torch.save; hf, "
         "a folder for the Hugging Face Hub, with timm's config.json and a README.md")
      ->check(CLI::IsMember({"safetensors", "pt", "hf"}));
  app.add_option("--weights", weights,
                 "Of an algorithm that keeps some besides the trained ones: ema");
  app.add_option("-o,--output", output, "The file to write; of hf the folder")->required();
  if (!parse_arguments(app, arguments, registries)) return 0;
  check_output(format, output);
  base::RealFileSystem files;
  const app::ExportReport report =
      format == "hf"
          ? app::export_hub_folder(source, weights, output, files, registries)
          : app::export_checkpoint(source, weights, output, files,
                                   format == "pt" ? checkpoint::WeightFormat::kTorch
                                                  : checkpoint::WeightFormat::kSafetensors);
  const std::string value = report.monitored ? fmt::format(" ({} {:.4f})", report.monitored->name,
                                                           report.monitored->value)
                                             : "";
  base::log_info("wrote {}: the {} weights after step {}{}, from {}", output.string(),
                 weights.empty() ? "model's" : weights + "'s", report.step, value,
                 report.checkpoint.string());
  for (const std::string& note : report.notes) base::log_warning(note);
  for (const checkpoint::Surgery& surgery : report.surgery) {
    base::log_warning(
        "the model of torchvision or timm computes something else with these weights: their "
        "network was changed by {}. model.pretrained={} rebuilds it",
        describe(surgery), output.string());
  }
  return 0;
}

}  // namespace paceline::cli
