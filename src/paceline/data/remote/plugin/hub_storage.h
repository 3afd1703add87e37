#pragma once

#include "paceline/data/storage/storage.h"

#include <memory>
#include <string>

namespace paceline::data {

/// Where the hub is and who asks.
struct HubAccess {
  std::string endpoint;  ///< as https://huggingface.co
  std::string token;     ///< empty: none; goes to the endpoint's own host only
};

/// As Hugging Face's own programs have it: HF_ENDPOINT; HF_TOKEN, else the file HF_TOKEN_PATH, else
/// the file `token` in HF_HOME, by default huggingface/ in $XDG_CACHE_HOME or ~/.cache.
HubAccess find_hub_access();

/// The data sets of Hugging Face's hub: hf:OWNER/NAME[@REVISION]/PATH, also with datasets/ or
/// //datasets/ before the owner. A revision is a branch, tag or commit, by default main; it is
/// looked up once, so that all that is read is of one commit. Throws DataError that says how to get
/// access if it is refused.
std::unique_ptr<const Storage> open_hub_storage(const HubAccess& access, double timeout_s);

}  // namespace paceline::data
