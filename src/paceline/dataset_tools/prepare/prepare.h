#pragma once

#include "paceline/base/file.h"
#include "paceline/data/dataset/split.h"
#include "paceline/data/pack/packer.h"
#include "paceline/data/storage/storage.h"
#include "paceline/dataset_tools/prepare/fetch.h"
#include "paceline/dataset_tools/prepare/known_sets.h"
#include "paceline/dataset_tools/prepare/obtain.h"

#include <functional>
#include <memory>
#include <string>

namespace paceline::dataset_tools {

struct PrepareOptions {
  /// Where the published files are: a folder, a file, or a place of the storage; or a folder or
  /// place with the images in another form. Empty: their URLs.
  std::string from;
  /// The folder gets train/, val/ and, meanwhile, downloads/. Of several parts the first downloads.
  data::PackOptions pack;
  FetchOptions fetch;
  double look_every_s = 10;  ///< of a part that waits for the first one
  bool keeps_downloads = false;
};

/// What preparing works with.
struct PrepareSurroundings {
  const data::Storage& storage;
  base::FileSystem& files;
  /// Opens one split of what lies somewhere.
  std::function<std::unique_ptr<data::Dataset>(const ImageSource& source, data::Split split)> open;
  WorkReports reports;
};

struct PrepareResult {
  data::PackResult train;
  data::PackResult val;
  bool was_complete = false;  ///< an earlier call had done it all
  bool is_complete() const { return was_complete || (train.is_complete() && val.is_complete()); }
};

/// Makes a packed data set of a public one: looks whether there is room, downloads, checks the
/// checksums, unpacks, checks the numbers of classes and of images in each, decodes all images and
/// packs them into FOLDER/train and FOLDER/val. What earlier calls, or other parts, have done is
/// found again. When all is there the downloads are removed. Throws ConfigError, DataError that
/// says what to do, FileError.
PrepareResult prepare(const KnownSet& set, const PrepareOptions& options,
                      const PrepareSurroundings& surroundings);

}  // namespace paceline::dataset_tools
