#include "paceline/pretrained/fetch_weights.h"

#include "paceline/data/remote/hub_access.h"
#include "paceline/data/remote/remote_plugin.h"
#include "paceline/data/remote/remote_storage.h"
#include "paceline/pretrained/bucket_weights.h"
#include "paceline/pretrained/hub_weights.h"
#include "paceline/pretrained/torch_hub.h"
#include "paceline/pretrained/torchvision_weights.h"

namespace paceline::pretrained {

FetchContext make_fetch_context(const data::RemoteConfig& remote, base::FileSystem& files,
                                const base::Interruption& interruption) {
  data::RemoteConfig once = remote;
  once.cache.clear();  // of ranges; what is fetched here is kept as a whole
  return {{files, interruption, remote.retries},
          [timeout = remote.timeout] { return data::load_remote_plugin().open_http(timeout); },
          [once, &interruption]() -> std::shared_ptr<const data::Storage> {
            return data::make_storage(once, &interruption);
          }};
}

FetchedWeights fetch_weights(const WeightSource& source, const std::string& model,
                             const FetchContext& context) {
  if (const auto* hub = std::get_if<HubSource>(&source))
    return fetch_from_hub(*hub, data::find_hub_access(), context);
  if (const auto* url = std::get_if<UrlSource>(&source))
    return fetch_to_torch_hub({.url = url->url}, torch_hub_folder(), context);
  if (const auto* bucket = std::get_if<BucketSource>(&source))
    return fetch_from_bucket(*bucket, bucket_cache_folder(), context);
  const TorchvisionWeights& weights =
      find_torchvision_weights(std::get<TorchvisionSource>(source), model);
  return fetch_to_torch_hub({url_of(weights), describe(weights)}, torch_hub_folder(), context);
}

}  // namespace paceline::pretrained
