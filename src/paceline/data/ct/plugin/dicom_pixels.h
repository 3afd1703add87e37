#pragma once

#include "paceline/data/ct/plugin/dicom_file.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace paceline::data {

/// How the pixels of a picture are stored.
struct PixelLayout {
  unsigned rows = 0;
  unsigned columns = 0;
  unsigned bits_allocated = 16;  ///< or 8
  unsigned bits_stored = 16;
  unsigned high_bit = 15;
  bool is_signed = false;

  std::size_t count() const { return std::size_t{rows} * columns; }
  std::size_t bytes() const { return count() * (bits_allocated / 8); }
  /// The range of numbers that can be stored.
  std::int32_t least() const { return is_signed ? -(std::int32_t{1} << (bits_stored - 1)) : 0; }
  std::int32_t most() const {
    return (std::int32_t{1} << (is_signed ? bits_stored - 1 : bits_stored)) - 1;
  }
  friend bool operator==(const PixelLayout&, const PixelLayout&) = default;
};

/// Throws DataError for a file without pixels, with more than one frame, and with others than grey
/// numbers of 8 or 16 bits.
PixelLayout layout_of(const DicomFile& file);

/// The numbers of a picture as they were stored; columns run fastest. Throws DataError if there are
/// too few bytes.
std::vector<std::int32_t> unpack_pixels(const std::string& bytes, const PixelLayout& layout,
                                        const std::string& name);

/// What multiplies a stored value, and what is added then.
struct Rescale {
  double slope = 1;
  double intercept = 0;
};
/// Throws DataError if it has only one of the two, or absurd ones.
std::optional<Rescale> rescale_of(const DicomFile& file);

}  // namespace paceline::data
