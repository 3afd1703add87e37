#pragma once

#include "paceline/data/remote/plugin/http_client.h"
#include "paceline/data/storage/storage.h"

#include <memory>
#include <optional>
#include <string>

namespace paceline::data {

/// A file on a server, as HTTP gives it: of no more than a URL.
struct HttpPlace {
  std::string path;         ///< for messages
  std::string url;          ///< where to ask
  std::string bearer = {};  ///< a token for the URL's own host
  bool is_fixed = false;    ///< what the URL names never changes, so its version is not looked at
};

/// Size and version of a file; nothing if the server says that there is none (404, 410). Throws
/// DataError if the server does not serve ranges, and what HttpClient and throw_unless_ok() throw.
std::optional<FileFacts> http_facts(const HttpClient& client, const HttpPlace& place);

/// The file, without a request. Each read is one request for a range; where a redirect led to
/// another host is kept for the next read as long as it works there. A read throws DataError if the
/// server has another version than `facts` tells, so that versions are never mixed.
std::unique_ptr<const InputFile> open_http(std::shared_ptr<const HttpClient> client,
                                           const HttpPlace& place, const FileFacts& facts);

/// "https" or "http". Lists no folders: HTTP has none.
std::unique_ptr<const Storage> open_http_storage(double timeout_s);

}  // namespace paceline::data
