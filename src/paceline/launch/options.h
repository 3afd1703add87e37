#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::launch {

/// What the user asked of the launcher on the command line; unset means "not given".
struct LaunchOptions {
  std::optional<int> nproc;  ///< ranks on this machine
  bool nproc_auto = false;   ///< one rank per visible GPU, else one
  std::optional<int> nnodes;
  std::optional<int> node_rank;
  std::optional<std::string> master_addr;
  std::optional<int> master_port;
  std::optional<std::string> rdzv_id;
  std::optional<std::filesystem::path> log_dir;
  std::optional<double> grace_seconds;
  std::optional<double> rdzv_timeout_seconds;
  bool detach = false;
};

/// One row of the table of launch options.
struct LaunchOption {
  std::vector<std::string_view> names;  ///< ours first, then torchrun's; '-' stands for '_' too
  std::string_view value;               ///< placeholder; empty for a flag
  std::string_view help;
  void (*apply)(LaunchOptions& options, std::string_view name, std::string_view value);
};

/// The one table of launch options: parsing and help come from it.
std::span<const LaunchOption> launch_options();

/// The table as help text, one option per paragraph, indented by two; without --detach for what
/// cannot be.
std::string launch_options_help(bool can_detach = true);

struct ExtractedOptions {
  LaunchOptions options;
  std::vector<std::string> rest;  ///< every other argument, in order
};

/// Takes the launch options out of `arguments` ("--name value", "--name=value"; names in full, with
/// '-' or '_'). Arguments from "--" on are left alone. The last of repeated options wins. Throws
/// ConfigError for a missing or wrong value.
ExtractedOptions extract_launch_options(std::span<const std::string> arguments);

/// The value of an option that is not the launcher's, such as "--run-dir"; nothing if it is absent.
std::optional<std::string> find_option_value(std::span<const std::string> arguments,
                                             std::string_view name);

}  // namespace paceline::launch
