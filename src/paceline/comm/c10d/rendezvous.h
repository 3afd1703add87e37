#pragma once

#include "paceline/comm/c10d/bootstrap.h"

#include <string>

#include <torch/csrc/distributed/c10d/Store.hpp>

namespace paceline::comm {

/// Where the ranks of a run have met.
struct Rendezvous {
  c10::intrusive_ptr<c10d::Store> store;  ///< sees this run's keys only
  std::string description;                ///< "127.0.0.1:29500", for the banner
};

/// Opens the store (on rank 0: serves it) and returns when all ranks are there. Throws CommError.
Rendezvous meet(const GroupOptions& options);

/// The second half of meet(): returns when all ranks have come to `store`. A rank asks it for some
/// ten things, however many ranks there are; who is missing after connect_timeout, one rank finds
/// out for all. Throws CommError, and what the store throws when it fails.
void join(c10d::Store& store, const GroupOptions& options);

}  // namespace paceline::comm
