#pragma once

#include "paceline/base/file.h"
#include "paceline/data/storage/storage.h"
#include "paceline/dataset_tools/prepare/fetch.h"
#include "paceline/dataset_tools/prepare/known_sets.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::dataset_tools {

/// What long work tells meanwhile.
struct WorkReports {
  std::function<void(const std::string& what)> say = {};
  /// How much of `what` is done, as in "train samples" or "MB of imagenette2.tgz".
  std::function<void(std::string_view what, std::int64_t done, std::int64_t total)> progress = {};
};

/// A published file, where it was found.
struct LocatedFile {
  const PublishedFile* file = nullptr;
  std::string path;  ///< in the storage
  std::uint64_t size_bytes = 0;
  std::int64_t changed = 0;  ///< data::FileFacts::changed
};

/// Finds the files of a set in `from`, a folder or a file of any storage, or by their URLs if it is
/// empty. None if `from` is a folder of this machine, or a place of any other, without them: images
/// may lie there in another form. Throws DataError that names what is missing, ConfigError if the
/// set has no URLs.
std::vector<LocatedFile> locate_files(const KnownSet& set, const std::string& from,
                                      const data::Storage& storage);

/// Where the images of a set can be read from.
struct ImageSource {
  std::string format;  ///< as a recipe names it; empty: told by what lies there
  std::string path;
};

/// How obtain_images() works.
struct ObtainOptions {
  std::filesystem::path folder;  ///< for downloads and what is unpacked
  FetchOptions fetch = {};
  bool is_first = true;      ///< of several machines only the first works, the others wait for it
  double look_every_s = 10;  ///< while waiting
};

/// Fetches what is not on this machine, checks what is, and unpacks what has to be. What an earlier
/// call has done is found again. Throws DataError, FileError.
ImageSource obtain_images(const KnownSet& set, const std::string& from,
                          const std::vector<LocatedFile>& located, const data::Storage& storage,
                          const ObtainOptions& options, base::FileSystem& files,
                          const WorkReports& reports);

}  // namespace paceline::dataset_tools
