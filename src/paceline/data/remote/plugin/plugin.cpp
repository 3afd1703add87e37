#include "paceline/base/error.h"
#include "paceline/data/remote/plugin/gcs_storage.h"
#include "paceline/data/remote/plugin/http_client.h"
#include "paceline/data/remote/plugin/http_storage.h"
#include "paceline/data/remote/plugin/hub_storage.h"
#include "paceline/data/remote/plugin/parquet_listing.h"
#include "paceline/data/remote/plugin/parquet_pages.h"
#include "paceline/data/remote/plugin/parquet_writer.h"
#include "paceline/data/remote/plugin/s3_storage.h"
#include "paceline/data/remote/remote_plugin.h"

namespace paceline::data {
namespace {

class Plugin final : public RemotePlugin {
 public:
  std::unique_ptr<const Storage> open_storage(std::string_view scheme,
                                              const RemoteConfig& config) const override {
    if (scheme == "s3") return open_s3_storage(config);
    if (scheme == "gs") return open_gcs_storage(config);
    if (scheme == "hf") return open_hub_storage(find_hub_access(), config.timeout);
    if (scheme == "https" || scheme == "http") return open_http_storage(config.timeout);
    throw base::ConfigError(
        fmt::format("there is no storage {}://; expected s3://, gs://, https:// or hf:", scheme));
  }

  std::unique_ptr<const HttpExchange> open_http(double timeout_s) const override {
    return std::make_unique<const HttpClient>(timeout_s);
  }

  ParquetListing list_parquet(std::shared_ptr<const InputFile> file,
                              const ParquetColumns& columns) const override {
    return data::list_parquet(std::move(file), columns);
  }

  std::unique_ptr<const ParquetImages> open_parquet(const std::shared_ptr<const InputFile>& file,
                                                    const std::string& image) const override {
    return open_parquet_pages(file, image);
  }

  std::unique_ptr<ParquetWriter> write_parquet(base::OutputFile& file,
                                               std::vector<ParquetField> fields) const override {
    return make_parquet_writer(file, std::move(fields));
  }
};

}  // namespace
}  // namespace paceline::data

/// What the program looks for (remote_plugin.h).
extern "C" __attribute__((visibility("default"))) const paceline::data::RemotePlugin*
paceline_remote_plugin(int abi) {
  static const paceline::data::Plugin plugin;
  return abi == paceline::data::kRemotePluginAbi ? &plugin : nullptr;
}
