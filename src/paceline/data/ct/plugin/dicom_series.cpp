#include "paceline/data/ct/plugin/dicom_series.h"

#include "paceline/data/ct/plugin/dicom_decode.h"
#include "paceline/data/ct/plugin/slice_order.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::data {
namespace {

constexpr std::size_t kSlicesAtOnce = 32;

/// DICOMDIR, which lists what is on a disc.
bool is_media_directory(const DicomFile& file) {
  return file.text(DicomTag::kMediaClass) == "1.2.840.10008.1.3.10";
}

/// A file without its pixels, which would take too much memory for all at once.
struct CtFile {
  DicomFile file;
  std::filesystem::path path;
};
using SeriesFiles = std::vector<CtFile>;

/// The CT files, by series, of which the largest comes first. The identifiers of series are only
/// compared.
std::vector<SeriesFiles> files_by_series(std::span<const std::filesystem::path> files,
                                         const std::string& name) {
  std::map<std::string, SeriesFiles> series;
  std::string other;
  for (std::size_t i = 0; i < files.size(); ++i) {
    DicomFile file =
        read_dicom(files[i], fmt::format("{}, file {} of {}", name, i + 1, files.size()));
    if (is_media_directory(file)) continue;
    const std::string modality = file.text(DicomTag::kModality);
    const std::string uid = file.text(DicomTag::kSeriesUid);
    if (modality.empty() || uid.empty())
      refuse_dicom(
          file.name,
          "does not say its modality or series, expected both: it may be cut short; export "
          "it again, or take it out of the folder");
    if (modality == "CT") {
      file.pixels = std::string();
      series[uid].push_back({.file = std::move(file), .path = files[i]});
    } else {
      other = told_code(modality);
    }
  }
  if (series.empty() && other.empty())
    refuse_dicom(name, "has no DICOM slices, expected a CT series");
  if (series.empty())
    refuse_dicom(name,
                 fmt::format("is of modality {}, expected CT; take it out of the folder", other));
  std::vector<SeriesFiles> all;
  all.reserve(series.size());
  for (auto& [uid, members] : series) all.push_back(std::move(members));
  std::ranges::stable_sort(all, std::greater<>(), &SeriesFiles::size);
  return all;
}

SeriesFiles choose_series(std::vector<SeriesFiles> all, SeriesChoice choice,
                          const std::string& name) {
  if (all.size() == 1) return std::move(all[0]);
  std::vector<std::size_t> sizes;
  sizes.reserve(all.size());
  for (const SeriesFiles& members : all) sizes.push_back(members.size());
  if (choice == SeriesChoice::kOnly)
    refuse_dicom(name,
                 fmt::format("has {} CT series, of {} slices, expected one; leave one in its "
                             "folder, or take the largest of each patient by --series largest",
                             all.size(), fmt::join(sizes, ", ")));
  if (sizes[0] == sizes[1])
    refuse_dicom(name, fmt::format("has {} CT series, of {} slices, and none is the largest; leave "
                                   "one in its folder",
                                   all.size(), fmt::join(sizes, ", ")));
  return std::move(all[0]);
}

/// Reads it anew: all files of a series at once would take as much memory as its volume.
DicomPicture picture_of(const CtSlice& slice) {
  DicomPicture picture{.file = read_dicom(slice.path, slice.name)};
  picture.layout = layout_of(picture.file);
  if (picture.layout != slice.layout)
    refuse_dicom(slice.name, "changed while it was read; start again when nobody writes to it");
  return picture;
}

void scale_slice(const std::vector<std::int32_t>& stored, const Rescale& rescale,
                 std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(stored[i] * rescale.slope + rescale.intercept);
}

}  // namespace

CtVolume read_dicom_files(std::span<const std::filesystem::path> files, SeriesChoice choice,
                          const std::string& name) {
  std::vector<CtSlice> slices;
  for (const CtFile& chosen : choose_series(files_by_series(files, name), choice, name))
    slices.push_back(ct_slice_of(chosen.file, chosen.path));
  order_slices(slices);
  const PixelLayout& layout = slices[0].layout;
  CtVolume volume{
      .sizes = {layout.columns, layout.rows, std::ssize(slices)},
      .affine = affine_of_slices(slices),
  };
  const std::size_t count = layout.count();
  if (static_cast<std::int64_t>(count) > kMostCtVoxels / std::ssize(slices))
    refuse_dicom(name, fmt::format("holds {} slices of {} x {} pixels, of which at most {} can be "
                                   "read; make it smaller first",
                                   slices.size(), layout.columns, layout.rows, kMostCtVoxels));
  volume.values.resize(count * slices.size());
  for (std::size_t begin = 0; begin < slices.size(); begin += kSlicesAtOnce) {
    std::vector<DicomPicture> pictures;
    for (std::size_t i = begin; i < std::min(begin + kSlicesAtOnce, slices.size()); ++i)
      pictures.push_back(picture_of(slices[i]));
    const auto stored = decode_pictures(pictures);
    for (std::size_t i = 0; i < stored.size(); ++i)
      scale_slice(stored[i], slices[begin + i].rescale,
                  std::span(volume.values).subspan((begin + i) * count, count));
  }
  return volume;
}

}  // namespace paceline::data
