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

/// What is to be written.
struct Wanted {
  std::filesystem::path source;
  std::filesystem::path output;
  std::string format = "safetensors";
  std::string names = "model";
  std::string weights;

  bool is_for_composer() const { return names == "composer"; }
};

app::ExportReport write(const Wanted& wanted, const app::Registries& registries) {
  const auto& [source, output, format, names, weights] = wanted;
  base::RealFileSystem files;
  if (format == "hf" && wanted.is_for_composer()) {
    throw base::ConfigError(
        "--names composer writes one file of tensors, and --format hf a folder for timm: choose "
        "--format safetensors or pt");
  }
  if (format == "hf") return app::export_hub_folder(source, weights, output, files, registries);
  const auto file_format =
      format == "pt" ? checkpoint::WeightFormat::kTorch : checkpoint::WeightFormat::kSafetensors;
  if (wanted.is_for_composer())
    return app::export_for_composer(source, weights, output, files, registries, file_format);
  return app::export_checkpoint(source, weights, output, files, file_format);
}

/// What becomes of the weights elsewhere.
void tell_of_surgery(const app::ExportReport& report, const std::filesystem::path& output) {
  for (const checkpoint::Surgery& surgery : report.surgery) {
    base::log_warning(
        "the model of torchvision or timm computes something else with these weights: their "
        "network was changed by {}. model.pretrained={} rebuilds it; --names composer writes them "
        "for "
        "the network that MosaicML Composer makes",
        describe(surgery), output.string());
  }
}

/// How Composer's model is made.
void tell_of_composer(const app::ExportReport& report) {
  base::log_info("load_state_dict(strict=True) of torchvision's model takes it{}",
                 report.composer_calls.empty() ? " as it is" : ", after of composer.functional:");
  for (const std::string& call : report.composer_calls) base::log_info("  {}", call);
}

}  // namespace

int run_export(const std::vector<std::string>& arguments, const app::Registries& registries) {
  Wanted wanted;
  CLI::App app("Write the weights of a checkpoint for other programs.", "export");
  app.add_option("run", wanted.source,
                 "RUN (its newest checkpoint), RUN@best, RUN@step-N or a checkpoint")
      ->required();
  app.add_option(
         "--format", wanted.format,
         "With the names of torchvision or timm: safetensors; pt, a file of torch.save; hf, "
         "a folder for the Hugging Face Hub, with timm's config.json and a README.md")
      ->check(CLI::IsMember({"safetensors", "pt", "hf"}));
  app.add_option("--names", wanted.names,
                 "model: torchvision's or timm's, as the model has them; composer: those that a "
                 "ResNet of torchvision's has after MosaicML Composer's surgery")
      ->check(CLI::IsMember({"model", "composer"}));
  app.add_option("--weights", wanted.weights, kWeightsHelp);
  app.add_option("-o,--output", wanted.output, "The file to write; of hf the folder")->required();
  if (!parse_arguments(app, arguments, registries)) return 0;
  check_output(wanted.format, wanted.output);
  const app::ExportReport report = write(wanted, registries);
  const std::string value = report.monitored ? fmt::format(" ({} {:.4f})", report.monitored->name,
                                                           report.monitored->value)
                                             : "";
  base::log_info("wrote {}: the {} weights after step {}{}, from {}", wanted.output.string(),
                 report.weights.empty() ? "model's" : report.weights + "'s", report.step, value,
                 report.checkpoint.string());
  for (const std::string& note : report.notes) base::log_warning(note);
  wanted.is_for_composer() ? tell_of_composer(report) : tell_of_surgery(report, wanted.output);
  return 0;
}

}  // namespace paceline::cli
