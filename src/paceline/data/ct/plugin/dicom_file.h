#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace paceline::data {

/// The elements that are looked at: group and element number. None says who a patient is, but for
/// kSeriesUid, which is only compared.
enum class DicomTag : std::uint32_t {
  kMediaClass = 0x00020002,
  kTransferSyntax = 0x00020010,
  kModality = 0x00080060,
  kSeriesUid = 0x0020000E,
  kPosition = 0x00200032,
  kOrientation = 0x00200037,
  kSamplesPerPixel = 0x00280002,
  kPhotometric = 0x00280004,
  kNumberOfFrames = 0x00280008,
  kRows = 0x00280010,
  kColumns = 0x00280011,
  kPixelSpacing = 0x00280030,
  kBitsAllocated = 0x00280100,
  kBitsStored = 0x00280101,
  kHighBit = 0x00280102,
  kPixelRepresentation = 0x00280103,
  kWindowCenter = 0x00281050,
  kWindowWidth = 0x00281051,
  kRescaleIntercept = 0x00281052,
  kRescaleSlope = 0x00281053,
  kRescaleType = 0x00281054,
  kWindowFunction = 0x00281056,
  kPixelData = 0x7FE00010,
};

/// What is wanted of one DICOM file; all else in it is passed over unread.
struct DicomFile {
  std::string name;                             ///< stands for the file in messages
  std::map<DicomTag, std::string> values = {};  ///< as they are stored, of the outermost level
  bool has_pixels = false;
  bool is_encapsulated = false;
  std::string pixels = {};  ///< encapsulated: the fragments behind the offset table, joined

  /// Trimmed; empty if there is none.
  std::string text(DicomTag tag) const;
  /// A 16-bit number; throws DataError, which calls it `what`, if it is another or none.
  unsigned number(DicomTag tag, const char* what) const;
  /// Numbers written as text; nothing if the element is missing or empty. Throws DataError for what
  /// is no finite number, and unless there are `count` (0: at least one).
  std::optional<std::vector<double>> decimals(DicomTag tag, const char* what,
                                              std::size_t count) const;
};

/// Throws DataError that begins with the name.
[[noreturn]] void refuse_dicom(const std::string& name, const std::string& problem);

/// Text of a coded value for a message, unless it is longer or holds other characters than these
/// values have: it might be anything then.
std::string told_code(const std::string& text);

/// Reads a file of PS3.10 with little-endian elements, explicit or implicit. Throws DataError with
/// cause and cure. Source: PS3.5, sections 7 and A; PS3.10, section 7.
DicomFile read_dicom(const std::filesystem::path& path, const std::string& name);

}  // namespace paceline::data
