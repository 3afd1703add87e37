#pragma once

#include "paceline/pretrained/fetch_weights.h"

#include <filesystem>
#include <string>

namespace paceline::pretrained {

/// Where torch.hub keeps files: hub/checkpoints in TORCH_HOME, by default torch/ in $XDG_CACHE_HOME
/// or ~/.cache.
std::filesystem::path torch_hub_folder();

/// A file that a server has.
struct PublishedFile {
  std::string url;
  std::string name = {};  ///< for people; empty: the URL, without its query
};

/// How the SHA-256 of a file begins, if its name tells, as torch.hub's do: the hexadecimal digits
/// of NAME-0123abcd.pth. Else empty.
std::string hash_in_name(const std::string& file_name);

/// Brings the file into torch.hub's folder under its own name. One that is there is taken: by the
/// hash in its name, else by its size, for which the server is asked. Throws as fetch_weights(),
/// and DataError if there is another file of that name, which stays.
FetchedWeights fetch_to_torch_hub(const PublishedFile& file, const std::filesystem::path& folder,
                                  const FetchContext& context);

}  // namespace paceline::pretrained
