#include "paceline/data/ct/plugin/dicom_xray.h"

#include "paceline/data/ct/plugin/dicom_decode.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace paceline::data {
namespace {

/// Which rescaled values become 0 and 1.
struct GreyRange {
  double black = 0;
  double white = 1;
};

GreyRange window_of(const DicomFile& file, double center, double width) {
  const std::string function = file.text(DicomTag::kWindowFunction);
  const bool is_exact = function == "LINEAR_EXACT";
  if (!is_exact && !function.empty() && function != "LINEAR")
    refuse_dicom(file.name, fmt::format("has a window of function {}, expected LINEAR or "
                                        "LINEAR_EXACT; export it with one of those",
                                        told_code(function)));
  const double least = is_exact ? 0 : 1;
  if (!(width > least))
    refuse_dicom(file.name, fmt::format("has a window of width {}, expected more than {}; correct "
                                        "it",
                                        width, least));
  if (is_exact) return {.black = center - width / 2, .white = center + width / 2};
  return {.black = center - 0.5 - (width - 1) / 2, .white = center - 0.5 + (width - 1) / 2};
}

GreyRange range_of(const DicomFile& file, const PixelLayout& layout, const Rescale& rescale) {
  const auto centers = file.decimals(DicomTag::kWindowCenter, "window center", 0);
  const auto widths = file.decimals(DicomTag::kWindowWidth, "window width", 0);
  if (centers.has_value() != widths.has_value())
    refuse_dicom(file.name, "has only one of window center and width; set both");
  if (centers) return window_of(file, centers->front(), widths->front());
  return {.black = layout.least() * rescale.slope + rescale.intercept,
          .white = layout.most() * rescale.slope + rescale.intercept};
}

}  // namespace

XrayPicture read_xray_file(const std::filesystem::path& path, const std::string& name) {
  DicomPicture picture{.file = read_dicom(path, name)};
  const std::string modality = picture.file.text(DicomTag::kModality);
  constexpr std::string_view kXrays[] = {"CR", "DX", "RF", "RG", "XA"};
  if (std::ranges::find(kXrays, modality) == std::end(kXrays))
    refuse_dicom(name,
                 fmt::format("is of modality {}, expected an X-ray picture (CR, DX, RF, RG or "
                             "XA); name another file",
                             told_code(modality)));
  picture.layout = layout_of(picture.file);
  const PixelLayout& layout = picture.layout;
  const Rescale rescale = rescale_of(picture.file).value_or(Rescale{});
  const auto [black, white] = range_of(picture.file, layout, rescale);
  const bool is_inverted = picture.file.text(DicomTag::kPhotometric) == "MONOCHROME1";
  const auto stored = decode_pictures({&picture, 1});
  XrayPicture xray{.rows = layout.rows, .columns = layout.columns};
  xray.values.reserve(layout.count());
  for (const std::int32_t number : stored[0]) {
    const double value = number * rescale.slope + rescale.intercept;
    const double grey = std::clamp((value - black) / (white - black), 0.0, 1.0);
    xray.values.push_back(static_cast<float>(is_inverted ? 1 - grey : grey));
  }
  return xray;
}

}  // namespace paceline::data
