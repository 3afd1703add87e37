#pragma once

#include "paceline/data/remote_config.h"
#include "paceline/data/storage.h"

#include <memory>
#include <string_view>

namespace paceline::data {

/// Buckets by Arrow's file systems: "s3" or "gs". Credentials come from where the clouds' own tools
/// find them. Throws ConfigError if there are none.
std::unique_ptr<const Storage> open_arrow_storage(std::string_view scheme,
                                                  const RemoteConfig& config);

}  // namespace paceline::data
