#pragma once

#include "paceline/data/remote/remote_config.h"
#include "paceline/data/storage/storage.h"

#include <memory>

namespace paceline::data {

/// "gs": buckets of Google Cloud Storage. Credentials are Google's application defaults
/// (GOOGLE_APPLICATION_CREDENTIALS, gcloud's login file, the machine's account on Google's cloud);
/// where there are none, buckets are read as the public may. STORAGE_EMULATOR_HOST names another
/// service. Failed calls are not tried again.
std::unique_ptr<const Storage> open_gcs_storage(const RemoteConfig& config);

}  // namespace paceline::data
