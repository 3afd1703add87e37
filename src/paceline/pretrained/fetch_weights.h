#pragma once

#include "paceline/data/remote/http_exchange.h"
#include "paceline/data/remote/remote_config.h"
#include "paceline/data/storage/storage.h"
#include "paceline/pretrained/download.h"
#include "paceline/pretrained/weight_source.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace paceline::pretrained {

/// Weights of elsewhere that lie on this machine now.
struct FetchedWeights {
  std::filesystem::path path;  ///< a file, or the index of those that lie beside it
  std::string origin;          ///< for people: "hf:OWNER/NAME at COMMIT, FILE"
  std::optional<std::filesystem::path> config = {};  ///< timm's config.json, if there is one
};

/// How this machine gets at the others; nothing is loaded before it is needed.
struct FetchContext {
  DownloadOptions download;
  std::function<std::unique_ptr<const data::HttpExchange>()> open_http;
  std::function<std::shared_ptr<const data::Storage>()> open_storage;
};

/// By the plug-in, with the recipe's data.remote. `files` and `interruption` outlive it.
FetchContext make_fetch_context(const data::RemoteConfig& remote, base::FileSystem& files,
                                const base::Interruption& interruption);

/// Brings the weights into the cache of whoever publishes them (huggingface_hub's, torch.hub's, or
/// paceline's own for buckets), unless they are there. `model` is the recipe's. Of several
/// processes on a machine, or on a shared disk, one downloads and the others wait. Throws
/// ConfigError, DataError, FileError, Interrupted: nothing has its final name then.
FetchedWeights fetch_weights(const WeightSource& source, const std::string& model,
                             const FetchContext& context);

}  // namespace paceline::pretrained
