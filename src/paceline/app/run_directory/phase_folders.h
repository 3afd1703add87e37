#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::app {

/// A run of phases is a directory whose folder phases/ holds a run directory for each of them.

/// What the folder of a phase is called: "2-whole".
std::string phase_folder_name(int number, const std::string& name);

/// RUN/phases/NAME; RUN/phases without a name.
std::filesystem::path phase_folder(const std::filesystem::path& run, const std::string& name);

/// Those that there are, by their numbers; none for a run without phases.
std::vector<std::filesystem::path> phase_folders(const std::filesystem::path& run);

/// Whether there is a checkpoint of this run, or phase of one.
bool has_saved(const std::filesystem::path& run);

/// The newest phase of a run that has saved a checkpoint, or else its newest; nothing for a run
/// without phases.
std::optional<std::filesystem::path> newest_phase(const std::filesystem::path& run);

/// What the guide to cascades calls the best or last checkpoint of a stage, RUN/stage2_best.pt or
/// RUN/stage2_final.pt, as RUN/phases/2-stage2@best or @last; nothing for other names. Throws
/// CheckpointError if RUN has phases and none of that name.
std::optional<std::filesystem::path> phase_of_guide_name(const std::filesystem::path& named);

}  // namespace paceline::app
