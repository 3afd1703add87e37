#pragma once

#include "paceline/app/phase_run.h"
#include "paceline/app/resume.h"
#include "paceline/app/session.h"
#include "paceline/train/stop_rule.h"

#include <filesystem>
#include <optional>

namespace paceline::app {

/// 14 images in batches of 5: an epoch has three steps, the last of them smaller.
constexpr const char* kRaggedVit = R"(
run:        {seed: 3}
model:      {name: vit, img_size: 16, patch_size: 8, embed_dim: 16, depth: 2, num_heads: 2}
data:       {name: synthetic, num_samples: 14, num_val_samples: 3, num_classes: 5, size: 16,
             image_size: 16, global_batch_size: 5, num_threads: 1}
train:      {duration: 90ep, eval_every: 2ba, grad_clip_norm: 1}
optimizer:  {name: sgd, lr: 0.05}
checkpoint: {every: 90ep, keep_best: 0}
loggers:    {jsonl: }
)";

/// Gives a session its run directory, as a start of a run does; one that is there already is gone
/// on with from its newest checkpoint. The directory must outlive the session.
inline RunDirectory attach(Session& session, const std::filesystem::path& run, bool is_resuming,
                           const LoadedRecipe& loaded, base::FileSystem& files,
                           comm::Communicator& communicator) {
  RunDirectory directory(RunPlace{.wanted = run}, is_resuming, communicator, files);
  const auto reader = is_resuming ? open_resumed("auto", directory, files, communicator) : nullptr;
  if (reader) session.resume(*reader);
  session.attach(directory, loaded.resolved,
                 reader ? std::optional(reader->directory()) : std::nullopt);
  return directory;
}

}  // namespace paceline::app
