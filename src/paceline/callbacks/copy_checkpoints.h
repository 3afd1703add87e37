#pragma once

#include "paceline/config/schema.h"
#include "paceline/train/algorithm.h"

#include <memory>
#include <optional>
#include <string>

namespace paceline::callbacks {

struct CopyCheckpointsConfig {
  std::string to;
  std::optional<int> keep = {};
};

/// Copies each checkpoint of the run, when it is whole, into another folder of its own, as of a
/// disk that outlives the machine. What stands there under a checkpoint's name is whole, too,
/// whenever the program or the machine stops.
class CopyCheckpoints final : public train::Callback {
 public:
  explicit CopyCheckpoints(const CopyCheckpointsConfig& config) : config_(config) {}

  std::string_view name() const override { return "copy_checkpoints"; }
  train::EventSet events() const override { return {}; }
  std::optional<std::string> on_event(train::Event /*event*/, const train::TrainState& /*state*/,
                                      const train::RunContext& /*run*/) override {
    return std::nullopt;
  }
  /// Throws FileError, and ConfigError where the folder is that of the run's own checkpoints.
  void on_saved(const std::filesystem::path& checkpoint, base::FileSystem& files) override;

 private:
  CopyCheckpointsConfig config_;
};

std::unique_ptr<train::Callback> make(const CopyCheckpointsConfig& config);

}  // namespace paceline::callbacks

template <>
struct paceline::config::Schema<paceline::callbacks::CopyCheckpointsConfig> {
  using Config = paceline::callbacks::CopyCheckpointsConfig;
  static constexpr std::string_view name = "copy_checkpoints";
  static constexpr std::string_view summary = "Copies each checkpoint into another folder.";
  static constexpr auto fields = std::tuple{
      field(&Config::to, "to", "The folder, of this run alone; it is made if it is not there.",
            NotEmpty{}, Path{}, MayChangeOnResume{}),
      field(&Config::keep, "keep", "How many of the newest stay there; all if left out.",
            AtLeast{1}, AtMost{1'000'000, "no folder holds more"}, MayChangeOnResume{})};
};
