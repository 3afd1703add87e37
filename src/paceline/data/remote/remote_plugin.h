#pragma once

#include "paceline/base/file.h"
#include "paceline/data/remote/http_exchange.h"
#include "paceline/data/remote/parquet_file.h"
#include "paceline/data/remote/parquet_table.h"
#include "paceline/data/remote/remote_config.h"
#include "paceline/data/storage/storage.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// What libpaceline_remote.so gives: all that needs Arrow and libcurl, which take longer to load
/// than a program with local files should wait.
class RemotePlugin {
 public:
  virtual ~RemotePlugin() = default;
  /// The files of one scheme, as remote_scheme() gives it. A failed read is not tried again here.
  /// Throws ConfigError that names the schemes there are.
  virtual std::unique_ptr<const Storage> open_storage(std::string_view scheme,
                                                      const RemoteConfig& config) const = 0;

  /// Servers, as downloads of whole files ask them. `timeout_s`: seconds without a byte after which
  /// a call fails.
  virtual std::unique_ptr<const HttpExchange> open_http(double timeout_s) const = 0;

  /// Reads the footer of a Parquet file, its labels and names, and where its pages of images lie,
  /// by the file's own index of them or else by their headers. Reads no images. Throws DataError
  /// that names the file.
  virtual ParquetListing list_parquet(std::shared_ptr<const InputFile> file,
                                      const ParquetColumns& columns) const = 0;
  /// Reads the footer of a file, to make images of its column `image`. Throws DataError that names
  /// the file.
  virtual std::unique_ptr<const ParquetImages> open_parquet(
      const std::shared_ptr<const InputFile>& file, const std::string& image) const = 0;
  /// Writes a table of these columns to `file`, which must outlive the writer and is neither synced
  /// nor closed.
  virtual std::unique_ptr<ParquetWriter> write_parquet(base::OutputFile& file,
                                                       std::vector<ParquetField> fields) const = 0;
};

/// Loads the plug-in, if it is not loaded yet: $PACELINE_REMOTE_PLUGIN, else
/// ../lib/libpaceline_remote.so beside the program. Throws ConfigError that says why that is not
/// possible.
const RemotePlugin& load_remote_plugin();

/// To be raised with every change of a class that the plug-in and the program share.
inline constexpr int kRemotePluginAbi = 6;
/// `extern "C" const RemotePlugin* paceline_remote_plugin(int abi)` of the plug-in; nullptr if it
/// was built with another one.
inline constexpr const char* kRemotePluginEntry = "paceline_remote_plugin";

}  // namespace paceline::data
