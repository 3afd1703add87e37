#pragma once

#include "paceline/data/ct/ct_volume.h"
#include "paceline/data/ct/plugin/dicom_decode.h"
#include "paceline/volume/affine.h"

#include <array>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace paceline::data {

using Direction = std::array<double, 3>;

/// Where the pixels of a slice lie, in millimetres to the patient's left, back and head.
struct SlicePlane {
  Direction position{};      ///< of the first pixel's middle
  Direction along_row{};     ///< from column to column, of length 1
  Direction along_column{};  ///< from row to row, of length 1
  double column_mm = 1;      ///< from column to column
  double row_mm = 1;         ///< from row to row

  Direction normal() const;
};

double dot(const Direction& a, const Direction& b);

/// One slice of a CT series: what its elements say, without the pixels.
struct CtSlice {
  std::string name;  ///< stands for the file in messages
  std::filesystem::path path;
  PixelLayout layout;
  SlicePlane plane;
  Rescale rescale;
};

/// Throws DataError for what is no single CT slice of Hounsfield units with a place. The file's
/// modality has been looked at. Source: PS3.3, C.7.6.2 and C.8.2.1.
CtSlice ct_slice_of(const DicomFile& file, const std::filesystem::path& path);

/// The affine of ordered slices: to the right, front and head.
volume::Affine affine_of_slices(std::span<const CtSlice> slices);

}  // namespace paceline::data
