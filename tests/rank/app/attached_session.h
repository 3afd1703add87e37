#pragma once

#include "paceline/app/resume.h"
#include "paceline/app/session.h"
#include "paceline/app/train_run.h"
#include "paceline/train/stop_rule.h"

#include <filesystem>
#include <optional>

namespace paceline::app {

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
