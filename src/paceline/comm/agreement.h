#pragma once

#include "paceline/comm/communicator.h"

#include <map>
#include <string>

namespace paceline::comm {

/// Throws ConfigError on every rank unless all ranks bring the same facts (version, configuration,
/// data fingerprint, ...); the message names the ranks and keys that differ from rank 0 and both
/// values. Every rank must call it. Never pass secrets.
void agree(Communicator& communicator, const std::map<std::string, std::string>& facts);

}  // namespace paceline::comm
