#pragma once

#include "paceline/pretrained/fetch_weights.h"

#include <filesystem>

namespace paceline::pretrained {

/// Where copies of a bucket's files are kept: weights/ in paceline's own cache. Throws ConfigError
/// if there is no home.
std::filesystem::path bucket_cache_folder();

/// Copies a file of a bucket, and those that it is the index of, into a folder of their version.
/// Throws as fetch_weights().
FetchedWeights fetch_from_bucket(const BucketSource& source, const std::filesystem::path& folder,
                                 const FetchContext& context);

}  // namespace paceline::pretrained
