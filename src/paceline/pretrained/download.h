#pragma once

#include "paceline/base/file.h"
#include "paceline/base/interruption.h"
#include "paceline/data/remote/http_exchange.h"
#include "paceline/pretrained/partial_file.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace paceline::pretrained {

/// What downloads have in common.
struct DownloadOptions {
  base::FileSystem& files;
  const base::Interruption& interruption;
  int retries = 6;  ///< of tries that bring nothing
  /// Waits so many seconds; for tests. Empty: the thread sleeps, until it is interrupted.
  std::function<void(double seconds)> sleep = {};
};

/// One file to be brought here.
struct DownloadPlan {
  std::string name;  ///< for messages
  std::filesystem::path target;
  std::filesystem::path partial;               ///< on the same disk
  std::optional<std::uint64_t> size = {};      ///< in bytes, if it is known
  std::string sha256 = {};                     ///< the whole, or how it begins; empty: not known
  std::string_view place_setting = "HF_HOME";  ///< that chooses another disk
};

/// Appends to the file what it lacks, as far as that comes. Throws TransientError for what another
/// try may bring.
using FetchRest = std::function<void(PartialFile& partial)>;

/// Brings a file here: goes on with what an earlier try has left, waits and tries again where that
/// may help, and gives the file its name when its size and checksum are right. What came stays for
/// the next call, unless it was wrong. Throws DataError, FileError, Interrupted.
void download(const DownloadPlan& plan, const FetchRest& fetch, const DownloadOptions& options);

/// A file on a server.
struct HttpOrigin {
  std::string name;  ///< for messages
  std::string url;
  std::string bearer = {};  ///< a token for the URL's own host
  std::string etag = {};    ///< of the version that is meant; empty: there is only one
  /// Throws unless the answer is a success; empty: data::throw_unless_ok().
  std::function<void(const data::HttpResponse& response)> check = {};
};

/// By one request for all that is missing. `exchange` outlives it.
FetchRest fetch_by_http(const data::HttpExchange& exchange, HttpOrigin origin,
                        const base::Interruption& interruption);

/// Does what may fail for a moment until it works, with pauses; `name` for messages. Throws
/// DataError after the last try, Interrupted.
void retry(const std::string& name, const DownloadOptions& options,
           const std::function<void()>& action);

}  // namespace paceline::pretrained
