#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace paceline::test {

/// A DICOM file of one CT slice of 3 columns and 2 rows, sound unless a test changes an element.
/// Source: PS3.5 and PS3.10.
struct DicomBytes {
  std::string syntax = "1.2.840.10008.1.2.1";  ///< explicit VR, little endian
  std::string magic = "DICM";
  /// By group and element number: value representation and value.
  std::map<std::uint32_t, std::pair<std::string, std::string>> elements = {};
  std::optional<std::string> pixels = std::string();
  std::vector<std::string> fragments = {};      ///< if any, `pixels` are not written
  std::set<std::uint32_t> open_sequences = {};  ///< of undefined length; their values end them

  DicomBytes& text(std::uint32_t tag, const std::string& kind, const std::string& value) {
    elements[tag] = {kind, value};
    return *this;
  }
  DicomBytes& number(std::uint32_t tag, unsigned value) {
    elements[tag] = {"US", bytes_of(value, 2)};
    return *this;
  }
  DicomBytes& values(const std::vector<int>& numbers) {
    pixels = "";
    for (const int value : numbers) *pixels += bytes_of(static_cast<unsigned>(value), 2);
    return *this;
  }

  std::string bytes() const {
    std::string file = std::string(128, '\0') + magic + element(0x00020010, "UI", syntax, true);
    const bool is_explicit = syntax != "1.2.840.10008.1.2";
    for (const auto& [tag, value] : elements) {
      std::string text = element(tag, value.first, value.second, is_explicit);
      if (open_sequences.contains(tag)) text.replace(is_explicit ? 8 : 4, 4, "\xFF\xFF\xFF\xFF");
      file += text;
    }
    if (!fragments.empty()) return file + encapsulated();
    if (pixels) file += element(0x7FE00010, "OW", *pixels, is_explicit);
    return file;
  }

  static std::string bytes_of(unsigned value, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFFU);
    return bytes;
  }

 private:
  static std::string tag_bytes(std::uint32_t tag) {
    return bytes_of(tag >> 16U, 2) + bytes_of(tag & 0xFFFFU, 2);
  }
  static std::string element(std::uint32_t tag, const std::string& kind, std::string value,
                             bool is_explicit) {
    if (value.size() % 2 != 0) value += kind == "UI" ? '\0' : ' ';
    const auto size = static_cast<unsigned>(value.size());
    if (!is_explicit) return tag_bytes(tag) + bytes_of(size, 4) + value;
    const bool is_long = kind == "OW" || kind == "SQ" || kind == "UN";
    return tag_bytes(tag) + kind +
           (is_long ? std::string(2, '\0') + bytes_of(size, 4) : bytes_of(size, 2)) + value;
  }
  std::string encapsulated() const {
    std::string text = tag_bytes(0x7FE00010) + "OB" + std::string(2, '\0') + bytes_of(~0U, 4);
    text += tag_bytes(0xFFFEE000) + bytes_of(0, 4);  // no offsets
    for (std::string fragment : fragments) {
      if (fragment.size() % 2 != 0) fragment += '\0';
      text += tag_bytes(0xFFFEE000) + bytes_of(static_cast<unsigned>(fragment.size()), 4);
      text += fragment;
    }
    return text + tag_bytes(0xFFFEE0DD) + bytes_of(0, 4);
  }
};

/// The slice at `z` mm, of 0.5 x 2 mm (rows are 2 mm apart) and signed values of 16 bits from
/// `first` on; each says who the patient is in several places.
inline DicomBytes ct_slice_bytes(double z, int first = 0) {
  DicomBytes file;
  file.text(0x00080016, "UI", "1.2.840.10008.5.1.4.1.1.2")
      .text(0x00080018, "UI", "1.2.826.77.3")
      .text(0x00080020, "DA", "19870605")
      .text(0x00080060, "CS", "CT")
      .text(0x00080080, "LO", "Saint Elsewhere")
      .text(0x0008103E, "LO", "Thorax of Doe")
      .text(0x00100010, "PN", "Doe^John")
      .text(0x00100020, "LO", "MRN-4711")
      .text(0x0020000D, "UI", "1.2.826.77.1")
      .text(0x0020000E, "UI", "1.2.826.77.2")
      .text(0x00200032, "DS", "-10\\20\\" + std::to_string(z))
      .text(0x00200037, "DS", "1\\0\\0\\0\\1\\0")
      .number(0x00280002, 1)
      .text(0x00280004, "CS", "MONOCHROME2")
      .number(0x00280010, 2)
      .number(0x00280011, 3)
      .text(0x00280030, "DS", "2\\0.5")
      .number(0x00280100, 16)
      .number(0x00280101, 16)
      .number(0x00280102, 15)
      .number(0x00280103, 1)
      .text(0x00281052, "DS", "-1000")
      .text(0x00281053, "DS", "2");
  return file.values({first, first + 1, first + 2, first + 3, first + 4, first + 5});
}

/// One frame of RLE (PS3.5, G) of values of 16 bits, high bytes first, in literal runs.
inline std::string rle_bytes(const std::string& little_endian) {
  std::string file = DicomBytes::bytes_of(2, 4) + DicomBytes::bytes_of(64, 4);
  std::string body;
  for (const std::size_t byte : {1, 0}) {
    if (byte == 0) file += DicomBytes::bytes_of(static_cast<unsigned>(64 + body.size()), 4);
    std::string plane;
    for (std::size_t i = byte; i < little_endian.size(); i += 2) plane += little_endian[i];
    body += static_cast<char>(plane.size() - 1) + plane;
    if (body.size() % 2 != 0) body += '\0';
  }
  file.resize(64, '\0');
  return file + body;
}

}  // namespace paceline::test
