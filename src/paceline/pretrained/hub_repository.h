#pragma once

#include "paceline/data/remote/http_exchange.h"
#include "paceline/data/remote/hub_access.h"
#include "paceline/pretrained/weight_source.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paceline::pretrained {

/// What a revision of a repository holds.
struct HubCommit {
  std::string commit;              ///< 40 hexadecimal digits
  std::vector<std::string> files;  ///< their paths, sorted
};

/// What the hub tells of a file without its content.
struct HubFile {
  std::string url;
  std::string etag;                        ///< its name in the cache; the SHA-256 of a large file
  std::string sha256 = {};                 ///< empty: not told, as of small files
  std::optional<std::uint64_t> size = {};  ///< in bytes
};

/// A repository of models at the hub, or at a mirror of it. One question a call, not tried again:
/// throws TransientError for what another try may mend, DataError for the rest, with the cure.
class HubRepository {
 public:
  /// `exchange` and `access` outlive it.
  HubRepository(const data::HttpExchange& exchange, const data::HubAccess& access,
                const HubSource& source);

  /// Looks the revision up.
  HubCommit find_commit() const;
  /// Asks for a file of a commit that has it.
  HubFile find_file(const std::string& commit, const std::string& file) const;
  /// Throws unless an answer is a success.
  void check(const data::HttpResponse& response) const;

 private:
  const data::HttpExchange& exchange_;
  const data::HubAccess& access_;
  HubSource source_;
};

}  // namespace paceline::pretrained
