#pragma once

#include <set>

namespace paceline::comm {

/// The sockets of this process that accept connections, by descriptor.
std::set<int> listening_sockets();

/// Closes a listening socket whose owner does not let it be closed. The number stays taken, by a
/// descriptor on which nothing ever happens, until the owner closes it.
void stop_listening(int descriptor);

}  // namespace paceline::comm
