#include "paceline/data/ct/plugin/dicom_decode.h"

#include "paceline/data/ct/plugin/codestream.h"
#include "paceline/data/ct/plugin/decoder_process.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <gdcmFragment.h>
#include <gdcmImage.h>
#include <gdcmSequenceOfFragments.h>

namespace paceline::data {
namespace {

enum class Compression : std::uint8_t { kNone, kRle, kJpeg, kJpeg2000 };

/// Throws DataError for a syntax that is none of those.
Compression compression_of(const DicomFile& file) {
  const std::string syntax = file.text(DicomTag::kTransferSyntax);
  const std::string_view number = syntax;
  constexpr std::string_view kRoot = "1.2.840.10008.1.2";
  if (number.starts_with(kRoot)) {
    const std::string_view rest = number.substr(kRoot.size());
    if (rest.empty() || rest == ".1") return Compression::kNone;
    if (rest == ".5") return Compression::kRle;
    for (const std::string_view jpeg : {".4.50", ".4.51", ".4.57", ".4.70", ".4.80", ".4.81"})
      if (rest == jpeg) return Compression::kJpeg;
    if (rest == ".4.90" || rest == ".4.91") return Compression::kJpeg2000;
  }
  const bool is_number = syntax.find_first_not_of("0123456789.") == std::string::npos;
  refuse_dicom(file.name, fmt::format("is compressed by {}, which is not read; expected JPEG, "
                                      "JPEG-LS, JPEG 2000, RLE or none: convert it, as by gdcmconv "
                                      "--raw",
                                      is_number ? syntax : "an unknown transfer syntax"));
}

/// Throws DataError for compressed pixels of another shape than the file says, or that were cut.
void check_codestream(const DicomPicture& picture, Compression compression) {
  const auto& [file, layout] = picture;
  if (compression == Compression::kRle) return;
  const auto header = compression == Compression::kJpeg ? read_jpeg_header(file.pixels)
                                                        : read_jpeg2000_header(file.pixels);
  if (!header)
    refuse_dicom(file.name,
                 "has compressed pixels that begin otherwise than its transfer syntax says; export "
                 "it again");
  if (header->columns != layout.columns || header->rows != layout.rows || header->components != 1 ||
      header->bits > layout.bits_allocated)
    refuse_dicom(
        file.name,
        fmt::format("has compressed pixels of {} x {} x {} and {} bits, expected {} x {} x "
                    "1 and at most {} bits; export it again",
                    header->columns, header->rows, header->components, header->bits, layout.columns,
                    layout.rows, layout.bits_allocated));
  if (!ends_with_marker(file.pixels))
    refuse_dicom(file.name, "has compressed pixels that end early; copy or export it again");
}

bool decode_by_gdcm(const DicomPicture& picture, std::span<char> output) {
  const auto& [file, layout] = picture;
  const gdcm::PixelFormat format(1, static_cast<unsigned short>(layout.bits_allocated),
                                 static_cast<unsigned short>(layout.bits_stored),
                                 static_cast<unsigned short>(layout.high_bit),
                                 layout.is_signed ? 1 : 0);
  gdcm::Image image;
  image.SetNumberOfDimensions(2);
  image.SetDimension(0, layout.columns);
  image.SetDimension(1, layout.rows);
  image.SetPhotometricInterpretation(gdcm::PhotometricInterpretation::MONOCHROME2);
  image.SetPixelFormat(format);
  image.SetTransferSyntax(
      gdcm::TransferSyntax::GetTSType(file.text(DicomTag::kTransferSyntax).c_str()));
  gdcm::Fragment fragment;
  fragment.SetByteValue(file.pixels.data(), static_cast<std::uint32_t>(file.pixels.size()));
  gdcm::SmartPointer<gdcm::SequenceOfFragments> fragments = new gdcm::SequenceOfFragments;
  fragments->AddFragment(fragment);
  gdcm::DataElement pixels(gdcm::Tag(0x7FE0, 0x0010));
  pixels.SetVR(gdcm::VR::OB);
  pixels.SetValue(*fragments);
  image.SetDataElement(pixels);
  if (image.GetBufferLength() != output.size() || !image.GetBuffer(output.data())) return false;
  // It would change what it was told if the pixels are of another kind.
  return image.GetPixelFormat().GetBitsAllocated() == layout.bits_allocated;
}

unsigned seconds_for(std::size_t num_pixels) {
  constexpr unsigned kLeastSeconds = 20;
  constexpr std::size_t kPixelsPerSecond = 50'000;  // far fewer than a slow core decodes
  return kLeastSeconds + static_cast<unsigned>(num_pixels / kPixelsPerSecond);
}

/// Leaves native pixels in the pictures with these numbers.
std::vector<std::string> decode_compressed(std::span<const DicomPicture> pictures,
                                           std::span<const std::size_t> numbers) {
  std::vector<std::size_t> starts;
  std::size_t num_bytes = 0;
  std::size_t num_pixels = 0;
  for (const std::size_t number : numbers) {
    starts.push_back(num_bytes);
    num_bytes += pictures[number].layout.bytes();
    num_pixels += pictures[number].layout.count();
  }
  const std::string& first_name = pictures[numbers[0]].file.name;
  const SharedBytes shared(num_bytes, first_name);
  const auto output_of = [&](std::size_t i) {
    return shared.bytes().subspan(starts[i], pictures[numbers[i]].layout.bytes());
  };
  const std::size_t done = call_in_child(
      numbers.size(), seconds_for(num_pixels), first_name,
      [&](std::size_t i) { return decode_by_gdcm(pictures[numbers[i]], output_of(i)); });
  if (done < numbers.size())
    refuse_dicom(pictures[numbers[done]].file.name,
                 "has compressed pixels that cannot be decoded: they are damaged; copy or export "
                 "it again");
  std::vector<std::string> decoded;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::span<char> output = output_of(i);
    decoded.emplace_back(output.data(), output.size());
  }
  return decoded;
}

}  // namespace

std::vector<std::vector<std::int32_t>> decode_pictures(std::span<const DicomPicture> pictures) {
  std::vector<std::size_t> compressed;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    const DicomPicture& picture = pictures[i];
    const Compression compression = compression_of(picture.file);
    if ((compression != Compression::kNone) != picture.file.is_encapsulated)
      refuse_dicom(picture.file.name,
                   "has pixels that are stored otherwise than its transfer syntax says; export it "
                   "again");
    if (compression == Compression::kNone) continue;
    check_codestream(picture, compression);
    compressed.push_back(i);
  }
  std::vector<std::string> decoded;
  if (!compressed.empty()) decoded = decode_compressed(pictures, compressed);
  std::vector<std::vector<std::int32_t>> values;
  for (std::size_t i = 0, next = 0; i < pictures.size(); ++i) {
    const DicomFile& file = pictures[i].file;
    const std::string& pixels = file.is_encapsulated ? decoded[next++] : file.pixels;
    values.push_back(unpack_pixels(pixels, pictures[i].layout, file.name));
  }
  return values;
}

}  // namespace paceline::data
