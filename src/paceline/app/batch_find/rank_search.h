#pragma once

#include "paceline/app/batch_find/batch_search.h"
#include "paceline/comm/communicator.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace paceline::app {

/// How a try went on this rank.
struct ProbeOutcome {
  bool fits = false;
  double bytes = 0;  ///< as BatchTry::bytes
};

/// Tries so many samples on this rank alone, without a word to others.
using BatchProbe = std::function<ProbeOutcome(std::int64_t samples)>;

/// Told of each try when all ranks know it; `refusal` says which ranks it does not fit, and is
/// empty if it fits.
using TryTold = std::function<void(const BatchTry& made, const std::string& refusal)>;

/// Looks for the largest batch that fits every rank, each with its own limit; the same answer on
/// all. Ranks talk between tries and never during one, so that a rank that runs out of memory
/// leaves none waiting. Every rank must call it, with the same `most_samples`. What a probe throws
/// on one rank all ranks throw.
BatchSearch search_batch(comm::Communicator& communicator, double limit_bytes,
                         std::int64_t most_samples, const BatchProbe& probe, const TryTold& told);

}  // namespace paceline::app
