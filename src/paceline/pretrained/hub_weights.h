#pragma once

#include "paceline/data/remote/hub_access.h"
#include "paceline/pretrained/fetch_weights.h"
#include "paceline/pretrained/hub_cache.h"

#include <optional>
#include <string>

namespace paceline::pretrained {

/// The weights of a commit and its config.json, if all that the source wants is in the cache.
std::optional<FetchedWeights> find_in_cache(const HubSource& source, const HubCache& cache,
                                            const std::string& commit);

/// Brings the files into huggingface_hub's cache. What the cache has of a commit is taken without a
/// question; of a branch or tag the hub is asked where it stands, and if it does not answer, what
/// the cache has is taken with a warning. Throws as fetch_weights().
FetchedWeights fetch_from_hub(const HubSource& source, const data::HubAccess& access,
                              const FetchContext& context);

}  // namespace paceline::pretrained
