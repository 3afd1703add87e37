#pragma once

#include "paceline/base/file.h"
#include "paceline/data/ct/ct_volume.h"
#include "paceline/dataset_tools/ct/ct_manifest.h"
#include "paceline/dataset_tools/ct/xray_picture.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace paceline::dataset_tools {

struct CtPrepareOptions {
  std::filesystem::path source;  ///< list_ct_patients() says what is found there
  std::filesystem::path
      folder;              ///< gets train/, val/, test/, ct_manifest.json and, meanwhile, work/
  CtSettings settings;     ///< X-rays only where there are some; the mark is that of `seed`
  std::uint64_t seed = 0;  ///< of splits and codes
  int num_threads = 2;     ///< each holds a scan and its cubes; 0: as many as there are cores
};

/// What preparing scans works with.
struct CtSurroundings {
  base::FileSystem& files;
  /// Reads a scan, which messages call `name`. Throws DataError.
  std::function<data::CtVolume(const std::filesystem::path& path, const std::string& name)> read;
  /// The same of the DICOM files of a patient.
  std::function<data::CtVolume(const std::vector<std::filesystem::path>& slices,
                               const std::string& name)>
      read_slices = {};
  ReadDicomXray read_xray = {};  ///< of X-rays that are DICOM files
  /// Neither is called by two threads at once.
  std::function<void(const std::string& what)> say = {};
  std::function<void(std::int64_t done, std::int64_t total)> progress = {};
};

struct CtPrepareResult {
  std::array<std::int64_t, 3> patients{};  ///< of each split, in the order of kPatientSplits
  std::int64_t made = 0;                   ///< by this call; the others were there
  std::int64_t left_out = 0;               ///< entries of the source without a scan
  bool has_xrays = false;
};

/// Makes cubes of all scans of a folder, in arrays by split, and beside them an array of their
/// X-rays if there are some. What an earlier call has finished and whose files are the same is
/// looked at, by its hash, and not made again. If files cannot be read, all other patients are made
/// first; nothing is put together before every one is. Nothing that is written or said tells who a
/// patient is. Throws ConfigError if the folder has other settings or another process writes to it,
/// DataError, FileError.
CtPrepareResult prepare_ct(const CtPrepareOptions& options, const CtSurroundings& surroundings);

}  // namespace paceline::dataset_tools
