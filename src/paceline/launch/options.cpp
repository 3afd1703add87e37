#include "paceline/launch/options.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/launch/environment.h"
#include "paceline/launch/rank_info.h"

#include <algorithm>

namespace paceline::launch {
namespace {

/// "--master_addr=x" is spelled "--master-addr" in the table.
std::string canonical_name(std::string_view argument) {
  std::string name(argument.substr(0, argument.find('=')));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void apply_nproc(LaunchOptions& options, std::string_view name, std::string_view value) {
  options.nproc_auto = value == "auto";
  options.nproc.reset();
  if (options.nproc_auto) return;
  if (value == "gpu" || value == "cpu")
    throw base::ConfigError(fmt::format(
        "{} {} is not understood: give a number of ranks, or \"auto\" for one per visible GPU",
        name, value));
  try {
    options.nproc = parse_int(name, value, 1, kMaxRanks);
  } catch (const base::ConfigError&) {
    throw base::ConfigError(
        fmt::format("{} must be the number of ranks to start on this machine, from 1 to {}, or "
                    "\"auto\", but it is \"{}\"",
                    name, kMaxRanks, value));
  }
}

/// HOST, HOST:PORT or [IPv6]:PORT.
void apply_rendezvous(LaunchOptions& options, std::string_view name, std::string_view value) {
  std::string_view host = value;
  std::string_view port;
  if (value.starts_with('[')) {
    const std::size_t bracket = value.find(']');
    host = value.substr(1, bracket == std::string_view::npos ? 0 : bracket - 1);
    const std::string_view rest =
        bracket == std::string_view::npos ? "" : value.substr(bracket + 1);
    if (!rest.empty() && !rest.starts_with(':')) host = {};
    if (!rest.empty()) port = rest.substr(1);
  } else if (const std::size_t colon = value.rfind(':'); colon != std::string_view::npos) {
    host = value.substr(0, colon);
    port = value.substr(colon + 1);
  }
  const bool has_bare_colons = !value.starts_with('[') && host.find(':') != std::string_view::npos;
  if (host.empty() || has_bare_colons || (port.empty() && value.ends_with(':')))
    throw base::ConfigError(
        fmt::format("{} must be HOST:PORT of node 0 (an IPv6 address in brackets), such as "
                    "10.0.0.1:{}, but it is \"{}\"",
                    name, kDefaultMasterPort, value));
  options.master_addr = std::string(host);
  options.master_port =
      port.empty() ? kDefaultMasterPort : parse_int(fmt::format("{}'s port", name), port, 1, 65535);
}

/// torchrun's "timeout=900,join_timeout=600", of which the time to join is the one there is here;
/// the other is taken where that is not given.
void apply_rendezvous_settings(LaunchOptions& options, std::string_view name,
                               std::string_view value) {
  std::optional<double> seconds;
  bool is_time_to_join = false;
  for (const std::string& setting : base::split(value, ',')) {
    const std::size_t equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    if (equals == std::string::npos || (key != "join_timeout" && key != "timeout"))
      throw base::ConfigError(fmt::format(
          "{} understands join_timeout=SECONDS alone (as --rdzv-timeout SECONDS), but got \"{}\"",
          name, setting));
    const double given =
        parse_seconds(fmt::format("{} {}", name, key), setting.substr(equals + 1), 1);
    if (is_time_to_join && key != "join_timeout") continue;
    is_time_to_join = key == "join_timeout";
    seconds = given;
  }
  options.rdzv_timeout_seconds = seconds;
}

void check_rdzv_backend(LaunchOptions& /*options*/, std::string_view name, std::string_view value) {
  if (value == "c10d" || value == "static") return;
  throw base::ConfigError(fmt::format(
      "{} {}: ranks meet at a port of node 0 (--rdzv HOST:PORT), as with torchrun's c10d", name,
      value));
}

void refuse_restarts(LaunchOptions& /*options*/, std::string_view name, std::string_view value) {
  if (value == "0") return;
  throw base::ConfigError(
      fmt::format("{} {}: ranks are not started again here: start the command again, `paceline "
                  "train` with --run-dir RUN --resume auto",
                  name, value));
}

std::vector<LaunchOption> make_table() {
  using Options = LaunchOptions;
  using Text = std::string_view;
  return {
      {{"--nproc", "--nproc-per-node"},
       "N|auto",
       "Ranks to start on this machine (default 1); auto: one per visible GPU.",
       apply_nproc},
      {{"--nnodes"},
       "N",
       "Machines of the run (default 1). Give the same launch options on each.",
       [](Options& options, Text name, Text value) {
         options.nnodes = parse_int(name, value, 1, kMaxRanks);
       }},
      {{"--node-rank"},
       "R",
       "This machine's number, from 0 to N - 1.",
       [](Options& options, Text name, Text value) {
         options.node_rank = parse_int(name, value, 0, kMaxRanks - 1);
       }},
      {{"--rdzv", "--rdzv-endpoint"},
       "HOST:PORT",
       "Where the ranks meet: an address of node 0 and a port that is free there.",
       apply_rendezvous},
      {{"--master-addr"},
       "HOST",
       "--rdzv in two parts: node 0's address,",
       [](Options& options, Text, Text value) { options.master_addr = std::string(value); }},
      {{"--master-port"},
       "PORT",
       "and its port (default: a free one on one machine, 29500 on several).",
       [](Options& options, Text name, Text value) {
         options.master_port = parse_int(name, value, 1, 65535);
       }},
      {{"--rdzv-id"},
       "NAME",
       "A name of the run, the same on every machine; keeps runs on one port apart.",
       [](Options& options, Text, Text value) { options.rdzv_id = std::string(value); }},
      {{"--rdzv-timeout"},
       "SECONDS",
       "How long the ranks wait for each other at the start (default 300). How long a collective "
       "may take is the recipe's parallel.timeout.",
       [](Options& options, Text name, Text value) {
         options.rdzv_timeout_seconds = parse_seconds(name, value, 1);
       }},
      {{"--rdzv-conf"}, "join_timeout=S", "torchrun's way to say it.", apply_rendezvous_settings},
      {{"--rdzv-backend"}, "c10d", "torchrun's, which changes nothing here.", check_rdzv_backend},
      {{"--standalone", "--no-python"},
       "",
       "torchrun's, which change nothing here: ranks of one machine find each other, and programs "
       "are started as they are.",
       [](Options&, Text, Text) {}},
      {{"--max-restarts"},
       "0",
       "torchrun's; ranks are not started again. `paceline train` goes on with --resume auto.",
       refuse_restarts},
      {{"--log-dir"},
       "DIR",
       "Write each rank's output to DIR/rank_0000.log and so on (default: RUN_DIR/logs for two "
       "ranks and more).",
       [](Options& options, Text, Text value) { options.log_dir = value; }},
      {{"--grace"},
       "SECONDS",
       "How long ranks may take to stop before they are killed: from the signal that stops the run "
       "(default 30), or from the failure of another rank (default 5).",
       [](Options& options, Text name, Text value) {
         options.grace_seconds = parse_seconds(name, value, 0);
       }},
      {{"--detach"},
       "",
       "Train in the background. Returns when the first step is done or the run has failed; Ctrl-C "
       "ends that wait alone. Follow with `paceline logs -f`, end with `paceline stop`.",
       [](Options& options, Text, Text) { options.detach = true; }},
  };
}

const LaunchOption* find_option(std::string_view argument) {
  if (!argument.starts_with("--")) return nullptr;
  const std::string name = canonical_name(argument);
  for (const LaunchOption& option : launch_options())
    if (std::find(option.names.begin(), option.names.end(), name) != option.names.end())
      return &option;
  return nullptr;
}

/// The value of the option at `index`: after '=' or the next argument, over which `index` then
/// moves.
std::string take_value(std::span<const std::string> arguments, std::size_t& index) {
  const std::string& argument = arguments[index];
  if (const std::size_t equals = argument.find('='); equals != std::string::npos)
    return argument.substr(equals + 1);
  if (index + 1 >= arguments.size() || arguments[index + 1] == "--")
    throw base::ConfigError(fmt::format("{} needs a value", argument));
  return arguments[++index];
}

std::string wrap(std::string_view text, std::size_t indent, std::size_t width) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
    if (column > indent && column + 1 + word.size() > width) {
      result += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

}  // namespace

std::span<const LaunchOption> launch_options() {
  static const std::vector<LaunchOption> table = make_table();
  return table;
}

std::string launch_options_help(bool can_detach) {
  constexpr std::size_t kIndent = 26;
  std::string help;
  for (const LaunchOption& option : launch_options()) {
    if (!can_detach && option.names[0] == "--detach") continue;
    std::string names;
    for (const std::string_view name : option.names)
      names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
    if (!option.value.empty()) names += fmt::format(" {}", option.value);
    const bool fits = names.size() + 4 <= kIndent;
    help +=
        fmt::format("  {:<{}}{}{}\n", names, fits ? kIndent - 2 : 0,
                    fits ? "" : "\n" + std::string(kIndent, ' '), wrap(option.help, kIndent, 100));
  }
  return help;
}

ExtractedOptions extract_launch_options(std::span<const std::string> arguments) {
  ExtractedOptions result;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const std::string& argument = arguments[index];
    if (argument == "--") {
      result.rest.insert(result.rest.end(), arguments.begin() + static_cast<std::ptrdiff_t>(index),
                         arguments.end());
      break;
    }
    const LaunchOption* option = find_option(argument);
    if (option == nullptr) {
      result.rest.push_back(argument);
      continue;
    }
    const std::string name = argument.substr(0, argument.find('='));
    if (option->value.empty()) {
      if (name != argument)
        throw base::ConfigError(fmt::format("{} takes no value, but got \"{}\"", name, argument));
      option->apply(result.options, name, "");
      continue;
    }
    const std::string value = take_value(arguments, index);
    if (value.empty())
      throw base::ConfigError(fmt::format("{} needs a value, but it is empty", name));
    option->apply(result.options, name, value);
  }
  return result;
}

std::optional<std::string> find_option_value(std::span<const std::string> arguments,
                                             std::string_view name) {
  std::optional<std::string> value;
  for (std::size_t index = 0; index < arguments.size() && arguments[index] != "--"; ++index)
    if (arguments[index].starts_with("--") && canonical_name(arguments[index]) == name)
      value = take_value(arguments, index);
  return value;
}

}  // namespace paceline::launch
