#pragma once

#include "paceline/comm/communicator.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace paceline::comm {

/// Whether all ranks bring the same text, which is known by one reduction. Every rank must call it.
bool is_same_on_all_ranks(Communicator& communicator, const std::string& text);

/// Throws ConfigError on every rank unless all ranks bring the same facts (version, configuration,
/// data fingerprint, ...); the message names the ranks and keys that differ from rank 0 and both
/// values. Every rank must call it. Never pass secrets.
void agree(Communicator& communicator, const std::map<std::string, std::string>& facts);

/// What `decide` returns on rank 0, on every rank: for what ranks would read from disks that may
/// differ. Every rank must call it. `decide` runs on a thread of its own and may take longer than
/// the time-out of collectives. When it throws, all ranks throw an Error with its text and exit
/// code.
std::string first_rank_decides(Communicator& communicator,
                               const std::function<std::string()>& decide);

/// Ranks that bring the same `place`, as those of one machine do, hear what `decide` returns on the
/// first of them: for what each machine has on disks of its own. Every rank must call it. `decide`
/// may take long, as in first_rank_decides(). When it throws anywhere, all ranks throw an Error
/// with its text and exit code.
std::string first_of_place_decides(Communicator& communicator, const std::string& place,
                                   const std::function<std::string()>& decide);

/// The largest that any rank brings. Every rank must call it.
std::int64_t max_over_ranks(Communicator& communicator, std::int64_t value);

/// Whether any rank brings true. Every rank must call it.
bool any_rank(Communicator& communicator, bool own);

/// What all ranks tell, by rank; nothing if none has anything to tell, which is known by one
/// reduction. Every rank must call it.
std::vector<std::string> texts_if_any(Communicator& communicator, const std::string& text);

}  // namespace paceline::comm
