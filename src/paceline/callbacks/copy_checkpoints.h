#pragma once

#include "paceline/config/schema.h"
#include "paceline/train/algorithm.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace paceline::callbacks {

struct CopyCheckpointsConfig {
  std::string to;
  std::optional<int> keep = {};
};

/// Copies each checkpoint of the run, when it is whole, into a folder of its own in another folder,
/// as of a disk that outlives the machine: TO/NAME, by the name of the run directory, or NAME-2,
/// NAME-3 where another run has that already. What stands there under a checkpoint's name is whole,
/// whenever the program or the machine stops, and nothing of another run is touched: the file
/// `run_id` says whose a folder is, here and in the run directory.
class CopyCheckpoints final : public train::Callback {
 public:
  explicit CopyCheckpoints(const CopyCheckpointsConfig& config) : config_(config) {}

  std::string_view name() const override { return "copy_checkpoints"; }
  train::CallbackTraits traits() const override { return {.events = {train::Event::kFitStart}}; }
  /// Learns where the run is.
  std::optional<std::string> on_event(train::Event event, const train::TrainState& state,
                                      const train::RunContext& run) override;
  /// Throws FileError, and ConfigError where the folder lies in the run itself.
  void on_saved(const std::filesystem::path& checkpoint, base::FileSystem& files) override;

 private:
  CopyCheckpointsConfig config_;
  std::filesystem::path run_directory_;
};

std::unique_ptr<train::Callback> make(const CopyCheckpointsConfig& config);

}  // namespace paceline::callbacks

template <>
struct paceline::config::Schema<paceline::callbacks::CopyCheckpointsConfig> {
  using Config = paceline::callbacks::CopyCheckpointsConfig;
  static constexpr std::string_view name = "copy_checkpoints";
  static constexpr std::string_view summary = "Copies each checkpoint into another folder.";
  static constexpr auto fields = std::tuple{
      field(&Config::to, "to",
            "The folder; it is made if it is not there. Each run gets one of its name in it.",
            NotEmpty{}, Path{}, MayChangeOnResume{}),
      field(&Config::keep, "keep", "How many of the newest stay there; all if left out.",
            AtLeast{1}, AtMost{1'000'000, "no folder holds more"}, MayChangeOnResume{})};
};
