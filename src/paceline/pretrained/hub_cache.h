#pragma once

#include "paceline/base/file.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace paceline::pretrained {

/// One repository in the cache that huggingface_hub uses, so that both find each other's files:
///
///   models--OWNER--NAME/refs/REVISION           the commit that a branch or tag was
///   models--OWNER--NAME/blobs/ETAG              a file's content, by what the server calls it
///   models--OWNER--NAME/snapshots/COMMIT/FILE   a relative symbolic link to it
///   .locks/models--OWNER--NAME/ETAG.lock        who writes the content holds it
///
/// Holds no state; nothing here asks the network.
class HubCache {
 public:
  HubCache(std::filesystem::path cache, const std::string& repository);

  /// The commit that a revision stands for: itself, or what was noted of the branch or tag.
  std::optional<std::string> commit_of(const std::string& revision) const;
  /// Where a commit's file lies, if it is there.
  std::optional<std::filesystem::path> find(const std::string& commit,
                                            const std::string& file) const;
  /// The names of all files of a commit that are there, sorted.
  std::vector<std::string> files_of(const std::string& commit) const;

  std::filesystem::path blob_of(const std::string& etag) const;
  /// Where the content lies until it is whole, under the name that huggingface_hub gives it.
  std::filesystem::path partial_of(const std::string& etag) const;
  std::filesystem::path lock_of(const std::string& etag) const;

  /// Gives content that lies at blob_of() its name in a commit, and returns the path. Throws
  /// FileError.
  std::filesystem::path link(base::FileSystem& files, const std::string& commit,
                             const std::string& file, const std::string& etag) const;
  /// Notes which commit a branch or tag is; nothing for a commit. Throws FileError.
  void note_commit(base::FileSystem& files, const std::string& revision,
                   const std::string& commit) const;

 private:
  std::filesystem::path snapshot_of(const std::string& commit) const;

  std::filesystem::path cache_;
  std::string name_;  ///< models--OWNER--NAME
};

/// Whether a revision is a whole commit: 40 hexadecimal digits.
bool is_commit(const std::string& revision);

}  // namespace paceline::pretrained
