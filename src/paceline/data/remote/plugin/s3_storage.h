#pragma once

#include "paceline/data/remote/remote_config.h"
#include "paceline/data/storage/storage.h"

#include <memory>

namespace paceline::data {

/// "s3": buckets of S3 and what speaks like it. Credentials come from where AWS's own tools find
/// them (environment, profile, single sign-on, the machine's role); without any, buckets are read
/// as the public may. AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL names another service; AWS_REGION or
/// AWS_DEFAULT_REGION the region, which is else asked of the bucket. Failed calls are not tried
/// again. Throws ConfigError.
std::unique_ptr<const Storage> open_s3_storage(const RemoteConfig& config);

}  // namespace paceline::data
