#pragma once

#include "paceline/data/remote/http_exchange.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace paceline::data {

/// Where Hugging Face's hub is, who asks, and where its files are kept on this machine.
struct HubAccess {
  std::string endpoint = {};         ///< as https://huggingface.co
  std::string token = {};            ///< empty: none; goes to the endpoint's own host only
  std::filesystem::path cache = {};  ///< huggingface_hub's, as ~/.cache/huggingface/hub
  bool is_offline = false;           ///< the hub must not be asked
};

/// As Hugging Face's own programs have it: HF_ENDPOINT; HF_TOKEN, else the file HF_TOKEN_PATH, else
/// the file `token` in HF_HOME, by default huggingface/ in $XDG_CACHE_HOME or ~/.cache;
/// HF_HUB_CACHE, else `hub` in HF_HOME; HF_HUB_OFFLINE.
HubAccess find_hub_access();

/// What is asked of the hub, for messages.
struct HubPlace {
  std::string_view kind = {};    ///< "data set" or "model"
  std::string repository = {};   ///< OWNER/NAME
  std::string revision = {};     ///< a branch, tag or commit
  std::string_view folder = {};  ///< of its page at the hub: "datasets/", or nothing for models
};

/// Throws if the hub's answer is no success, with what it means and how to mend it: DataError, or
/// TransientError for what may pass.
void check_hub_answer(const HubAccess& access, const HubPlace& place, const HttpResponse& response);

/// With all but letters, digits and -._~ as %XX; slashes stay if `with_slashes`.
std::string escape_url(std::string_view text, bool with_slashes);

}  // namespace paceline::data
