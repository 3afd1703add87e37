#pragma once

#include <optional>
#include <string_view>

namespace paceline::data {

/// What compressed pixels say of themselves.
struct CodestreamHeader {
  unsigned columns = 0;
  unsigned rows = 0;
  unsigned components = 0;
  unsigned bits = 0;  ///< of a sample
};

/// Of JPEG (lossy or lossless) and JPEG-LS: the frame header. Nothing if there is none. Source: ITU
/// T.81, B.2.2; T.87, C.2.2.
std::optional<CodestreamHeader> read_jpeg_header(std::string_view bytes);
/// Of JPEG 2000 without boxes, as DICOM wants it. Source: ITU T.800, A.5.1.
std::optional<CodestreamHeader> read_jpeg2000_header(std::string_view bytes);

/// Whether the last bytes, but for one of padding, are the marker that ends all three.
bool ends_with_marker(std::string_view bytes);

}  // namespace paceline::data
