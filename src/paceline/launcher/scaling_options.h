#pragma once

#include <string>
#include <vector>

namespace paceline::launcher {

/// What `paceline bench scaling` takes.
struct ScalingOptions {
  std::vector<std::string> recipe;  ///< and overrides
  std::string phase;                ///< of the recipe's; empty: the first
  std::vector<int> nproc{1, 2};
  std::vector<int> nnodes{1};
  int node_rank = 0;
  std::string master_addr;  ///< of node 0; empty for one machine
  int master_port = 0;      ///< of the largest run; the others take those after it
  int steps = 20;
  int warm_up = 5;
  bool as_json = false;
};

/// Of the arguments after the verb. Throws ConfigError.
ScalingOptions parse_scaling_options(const std::vector<std::string>& arguments);

/// What --help prints below the usage.
extern const char* const kScalingHelp;

}  // namespace paceline::launcher
