#include "paceline/app/export/export_run.h"

#include "paceline/app/export/composer_names.h"
#include "paceline/app/export/model_card.h"
#include "paceline/app/export/timm_config.h"
#include "paceline/app/run_directory/find_checkpoint.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/config/bind.h"
#include "paceline/config/parse.h"

#include <span>

#include <nlohmann/json.hpp>

namespace paceline::app {

namespace fs = std::filesystem;

namespace {

checkpoint::SurgeryRecord surgery_in(const checkpoint::Manifest& manifest) {
  return manifest.surgery.value_or(checkpoint::SurgeryRecord());
}

Recipe recipe_in(const checkpoint::CheckpointReader& reader, const Registries& registries) {
  return config::bind<Recipe>(
      config::parse_yaml(reader.manifest().config,
                         (reader.directory() / checkpoint::kManifestFile).string()),
      registries.context(/*world_size=*/0));
}

ExportReport export_opened(const checkpoint::CheckpointReader& reader,
                           std::span<const checkpoint::TensorSource> tensors,
                           const std::string& weights, const fs::path& output,
                           base::FileSystem& files, checkpoint::WeightFormat format) {
  const checkpoint::Manifest& manifest = reader.manifest();
  checkpoint::Metadata metadata{{"step", std::to_string(manifest.step)}};
  const std::string chosen = checkpoint::chosen_weights(manifest, weights);
  if (!chosen.empty()) metadata["weights"] = chosen;
  if (!manifest.class_names.empty())
    metadata[std::string(checkpoint::kClassNamesKey)] = nlohmann::json(manifest.class_names).dump();
  const auto surgery = surgery_in(manifest);
  if (!surgery.empty())
    metadata[std::string(checkpoint::kSurgeryKey)] = surgery_to_json(surgery).dump();
  checkpoint::export_weights(files, output, tensors, metadata, format);
  return {.checkpoint = reader.directory(),
          .step = manifest.step,
          .weights = chosen,
          .monitored = manifest.monitored,
          .surgery = surgery};
}

}  // namespace

ExportReport export_checkpoint(const fs::path& run_or_checkpoint, const std::string& weights,
                               const fs::path& output, base::FileSystem& files,
                               checkpoint::WeightFormat format) {
  checkpoint::CheckpointReader reader(find_checkpoint(run_or_checkpoint));
  reader.verify();
  return export_opened(reader, checkpoint::model_tensors(reader, weights), weights, output, files,
                       format);
}

ExportReport export_for_composer(const fs::path& run_or_checkpoint, const std::string& weights,
                                 const fs::path& output, base::FileSystem& files,
                                 const Registries& registries, checkpoint::WeightFormat format) {
  checkpoint::CheckpointReader reader(find_checkpoint(run_or_checkpoint));
  reader.verify();
  const ComposerModel model =
      as_composers(recipe_in(reader, registries), surgery_in(reader.manifest()),
                   checkpoint::model_tensors(reader, weights), registries);
  ExportReport report = export_opened(reader, model.tensors, weights, output, files, format);
  report.composer_calls = model.calls;
  return report;
}

ExportReport export_hub_folder(const fs::path& run_or_checkpoint, const std::string& weights,
                               const fs::path& folder, base::FileSystem& files,
                               const Registries& registries) {
  checkpoint::CheckpointReader reader(find_checkpoint(run_or_checkpoint));
  reader.verify();
  const checkpoint::Manifest& manifest = reader.manifest();
  const Recipe recipe = recipe_in(reader, registries);
  const TimmConfig config = timm_config(recipe, manifest, registries);
  base::create_durable_directories(files, folder);
  ExportReport report =
      export_opened(reader, checkpoint::model_tensors(reader, weights), weights,
                    folder / "model.safetensors", files, checkpoint::WeightFormat::kSafetensors);
  base::write_file_atomically(files, folder / "config.json", config.json.dump(2) + "\n");
  base::write_file_atomically(files, folder / "README.md",
                              model_card(recipe, manifest, config, report.weights));
  if (!config.problem.empty()) report.notes.push_back(config.problem);
  return report;
}

}  // namespace paceline::app
