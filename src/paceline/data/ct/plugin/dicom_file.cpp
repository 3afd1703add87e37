#include "paceline/data/ct/plugin/dicom_file.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

namespace paceline::data {
namespace {

constexpr std::uint32_t kUndefinedLength = 0xFFFFFFFF;
constexpr std::uint32_t kItem = 0xFFFEE000;
constexpr std::uint32_t kItemEnd = 0xFFFEE00D;
constexpr std::uint32_t kSequenceEnd = 0xFFFEE0DD;
constexpr std::size_t kMagicPlace = 128;
constexpr std::size_t kMostValueBytes = 1024;  ///< of what is kept, which is short
constexpr std::uintmax_t kMostFileBytes = std::uintmax_t{1} << 31;
constexpr int kMostDepth = 16;

constexpr DicomTag kWanted[] = {
    DicomTag::kMediaClass,       DicomTag::kTransferSyntax,
    DicomTag::kModality,         DicomTag::kSeriesUid,
    DicomTag::kPosition,         DicomTag::kOrientation,
    DicomTag::kSamplesPerPixel,  DicomTag::kPhotometric,
    DicomTag::kNumberOfFrames,   DicomTag::kRows,
    DicomTag::kColumns,          DicomTag::kPixelSpacing,
    DicomTag::kBitsAllocated,    DicomTag::kBitsStored,
    DicomTag::kHighBit,          DicomTag::kPixelRepresentation,
    DicomTag::kWindowCenter,     DicomTag::kWindowWidth,
    DicomTag::kRescaleIntercept, DicomTag::kRescaleSlope,
    DicomTag::kRescaleType,      DicomTag::kWindowFunction,
};

/// Goes through the elements of a file. Every length is looked at before it is used.
class ElementReader {
 public:
  ElementReader(DicomFile& file, std::string_view bytes) : file_(file), bytes_(bytes) {}

  void read() {
    if (bytes_.substr(std::min(bytes_.size(), kMagicPlace), 4) != "DICM")
      refuse_dicom(file_.name,
                   "is not DICOM (no DICM at byte 128); expected a file as PS3.10 has it: convert "
                   "it, or take it out of the folder");
    place_ = kMagicPlace + 4;
    while (place_ < bytes_.size() && group_ahead() == 2) read_element(true);
    const std::string syntax = file_.text(DicomTag::kTransferSyntax);
    if (syntax.empty())
      refuse_dicom(file_.name,
                   "does not say how it is encoded (no transfer syntax); export it again");
    if (syntax == "1.2.840.10008.1.2.2" || syntax == "1.2.840.10008.1.2.1.99")
      refuse_dicom(file_.name, fmt::format("is encoded as {} (big endian or deflated), expected "
                                           "little endian; convert it, as by gdcmconv --raw",
                                           syntax));
    const bool is_explicit = syntax != "1.2.840.10008.1.2";
    while (place_ < bytes_.size() && !file_.has_pixels) read_element(is_explicit);
  }

 private:
  struct Element {
    std::uint32_t tag = 0;
    std::uint32_t length = 0;
    bool is_unknown = false;  ///< of VR UN, whose items are implicit
  };

  [[noreturn]] void refuse_short(std::uint64_t missing) const {
    refuse_dicom(
        file_.name,
        fmt::format("is cut short: {} bytes are missing; copy or export it again", missing));
  }
  [[noreturn]] void refuse_damaged(const char* where) const {
    refuse_dicom(file_.name,
                 fmt::format("is damaged ({} at byte {}); copy or export it again", where, place_));
  }

  std::string_view take(std::uint64_t count) {
    const std::size_t left = bytes_.size() - place_;
    if (count > left) refuse_short(count - left);
    const std::string_view taken = bytes_.substr(place_, count);
    place_ += count;
    return taken;
  }
  std::uint32_t take_number(int size) {
    const std::string_view taken = take(static_cast<std::uint64_t>(size));
    std::uint32_t number = 0;
    for (int i = size - 1; i >= 0; --i)
      number = number << 8U | static_cast<std::uint8_t>(taken[static_cast<std::size_t>(i)]);
    return number;
  }
  std::uint32_t take_tag() {
    const std::uint32_t group = take_number(2);
    return group << 16U | take_number(2);
  }
  std::uint32_t group_ahead() {
    const std::size_t before = place_;
    const std::uint32_t group = take_number(2);
    place_ = before;
    return group;
  }

  Element take_header(bool is_explicit) {
    Element element{.tag = take_tag()};
    if (!is_explicit || element.tag >> 16U == 0xFFFE) {
      element.length = take_number(4);
      return element;
    }
    const std::string_view kind = take(2);
    if (!std::ranges::all_of(kind, [](char c) { return c >= 'A' && c <= 'Z'; }))
      refuse_damaged("no value representation");
    constexpr std::string_view kLong[] = {"OB", "OD", "OF", "OL", "OV", "OW", "SQ",
                                          "SV", "UC", "UN", "UR", "UT", "UV"};
    element.is_unknown = kind == "UN";
    if (std::ranges::find(kLong, kind) == std::end(kLong)) {
      element.length = take_number(2);
    } else {
      take(2);
      element.length = take_number(4);
    }
    return element;
  }

  void read_element(bool is_explicit) {
    const Element element = take_header(is_explicit);
    const auto tag = static_cast<DicomTag>(element.tag);
    if (tag == DicomTag::kPixelData) return read_pixels(element.length);
    if (element.length == kUndefinedLength)
      return skip_items(is_explicit && !element.is_unknown, 0);
    const std::string_view value = take(element.length);
    if (std::ranges::find(kWanted, tag) == std::end(kWanted)) return;
    if (value.size() > kMostValueBytes) refuse_damaged("a long value");
    file_.values[tag] = value;
  }

  /// Of a sequence whose end is marked.
  void skip_items(bool is_explicit, int depth) {
    if (depth > kMostDepth) refuse_damaged("too many sequences in each other");
    while (true) {
      const std::uint32_t tag = take_tag();
      const std::uint32_t length = take_number(4);
      if (tag == kSequenceEnd) return;
      if (tag != kItem) refuse_damaged("no item in a sequence");
      if (length == kUndefinedLength) {
        skip_open_item(is_explicit, depth);
      } else {
        take(length);
      }
    }
  }
  void skip_open_item(bool is_explicit, int depth) {
    while (true) {
      const Element element = take_header(is_explicit);
      if (element.tag == kItemEnd) return;
      if (element.length == kUndefinedLength) {
        skip_items(is_explicit && !element.is_unknown, depth + 1);
      } else {
        take(element.length);
      }
    }
  }

  void read_pixels(std::uint32_t length) {
    file_.has_pixels = true;
    if (length != kUndefinedLength) {
      file_.pixels = take(length);
      return;
    }
    file_.is_encapsulated = true;
    for (bool is_offset_table = true;; is_offset_table = false) {
      const std::uint32_t tag = take_tag();
      const std::uint32_t size = take_number(4);
      if (tag == kSequenceEnd) return;
      if (tag != kItem || size == kUndefinedLength) refuse_damaged("no fragment of pixels");
      const std::string_view fragment = take(size);
      if (!is_offset_table) file_.pixels += fragment;
    }
  }

  DicomFile& file_;
  std::string_view bytes_;
  std::size_t place_ = 0;
};

[[noreturn]] void refuse_unopened(const std::string& name, const std::string& reason) {
  refuse_dicom(name, fmt::format("cannot be opened: {}; name a file that can be read", reason));
}

std::string bytes_of_file(const std::filesystem::path& path, const std::string& name) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    refuse_unopened(name, error ? error.message() : "it is not a file");
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) refuse_unopened(name, error.message());
  if (size > kMostFileBytes)
    refuse_dicom(name, fmt::format("is {} bytes large, of which at most {} can be read: it is no "
                                   "single picture; split it",
                                   size, kMostFileBytes));
  std::string bytes(size, '\0');
  std::ifstream stream(path, std::ios::binary);
  if (!stream.read(bytes.data(), static_cast<std::streamsize>(size)))
    refuse_unopened(name, "its bytes cannot be read");
  return bytes;
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kPadding(" \0\t", 3);
  const std::size_t begin = text.find_first_not_of(kPadding);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kPadding) - begin + 1));
}

std::optional<double> finite_number(const std::string& text) {
  double number = 0;
  const char* const begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(begin, end, number);
  if (problem != std::errc{} || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace

void refuse_dicom(const std::string& name, const std::string& problem) {
  throw base::DataError(fmt::format("{}: {}", name, problem));
}

std::string told_code(const std::string& text) {
  constexpr std::size_t kMostCharacters = 16;  // of a value of VR CS
  const auto is_of_code = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ' ';
  };
  if (text.empty()) return "none";
  if (text.size() > kMostCharacters || !std::ranges::all_of(text, is_of_code))
    return "of an unknown kind";
  return text;
}

std::string DicomFile::text(DicomTag tag) const {
  const auto found = values.find(tag);
  return found == values.end() ? std::string() : trimmed(found->second);
}

unsigned DicomFile::number(DicomTag tag, const char* what) const {
  const auto found = values.find(tag);
  if (found == values.end() || found->second.size() != 2)
    refuse_dicom(name,
                 fmt::format("has no {}, expected one number of 16 bits; export it again", what));
  return static_cast<std::uint8_t>(found->second[0]) |
         static_cast<unsigned>(static_cast<std::uint8_t>(found->second[1])) << 8U;
}

std::optional<std::vector<double>> DicomFile::decimals(DicomTag tag, const char* what,
                                                       std::size_t count) const {
  const std::string all = text(tag);
  if (all.empty()) return std::nullopt;
  std::vector<double> numbers;
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find('\\', begin), all.size());
    const auto number = finite_number(trimmed(std::string_view(all).substr(begin, end - begin)));
    if (!number)
      refuse_dicom(name, fmt::format("has a {} that is no finite number; correct it", what));
    numbers.push_back(*number);
    begin = end + 1;
  }
  if (count != 0 && numbers.size() != count)
    refuse_dicom(name, fmt::format("has {} numbers as {}, expected {}; correct it", numbers.size(),
                                   what, count));
  return numbers;
}

DicomFile read_dicom(const std::filesystem::path& path, const std::string& name) {
  const std::string bytes = bytes_of_file(path, name);
  DicomFile file{.name = name};
  ElementReader(file, bytes).read();
  return file;
}

}  // namespace paceline::data
