#pragma once

#include "paceline/data/remote/hub_access.h"
#include "paceline/data/storage/storage.h"

#include <memory>

namespace paceline::data {

/// The data sets of Hugging Face's hub: hf:OWNER/NAME[@REVISION]/PATH, also with datasets/ or
/// //datasets/ before the owner. A revision is a branch, tag or commit, by default main; it is
/// looked up once, so that all that is read is of one commit. Throws DataError that says how to get
/// access if it is refused.
std::unique_ptr<const Storage> open_hub_storage(const HubAccess& access, double timeout_s);

}  // namespace paceline::data
