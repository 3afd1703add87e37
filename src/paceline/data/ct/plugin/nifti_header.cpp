#include "paceline/data/ct/plugin/nifti_header.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nifti2_io.h>

namespace paceline::data {
namespace {

constexpr std::uint64_t kMostExtensionBytes = std::uint64_t{1} << 30;
/// A quaternion of float32 may be this much longer than 1, by rounding.
constexpr double kQuaternionSlack = 3 * std::numeric_limits<float>::epsilon();

[[noreturn]] void refuse(const std::string& name, const std::string& problem) {
  throw base::DataError(fmt::format("{}: {}", name, problem));
}

/// Both versions' fields, as wide as the wider one has them.
struct RawHeader {
  std::array<std::int64_t, 8> dim{};
  std::array<double, 8> pixdim{};
  int datatype = 0;
  double offset = 0;
  double slope = 0;
  double intercept = 0;
  int qform_code = 0;
  int sform_code = 0;
  std::array<double, 3> quaternion{};
  std::array<double, 3> shift{};
  volume::Affine sform{};
  int units = 0;
};

template <class Header>
RawHeader widen_header(const Header& header) {
  RawHeader raw;
  for (std::size_t i = 0; i < 8; ++i) {
    raw.dim[i] = header.dim[i];
    raw.pixdim[i] = header.pixdim[i];
  }
  raw.datatype = header.datatype;
  raw.offset = static_cast<double>(header.vox_offset);
  raw.slope = header.scl_slope;
  raw.intercept = header.scl_inter;
  raw.qform_code = header.qform_code;
  raw.sform_code = header.sform_code;
  raw.quaternion = {header.quatern_b, header.quatern_c, header.quatern_d};
  raw.shift = {header.qoffset_x, header.qoffset_y, header.qoffset_z};
  for (std::size_t i = 0; i < 4; ++i) {
    raw.sform[0][i] = header.srow_x[i];
    raw.sform[1][i] = header.srow_y[i];
    raw.sform[2][i] = header.srow_z[i];
  }
  raw.units = static_cast<unsigned char>(header.xyzt_units);
  return raw;
}

/// Throws unless the magic bytes are those of a single file, which begin with `single`.
void check_magic(std::string_view magic, std::string_view single, std::string_view pair,
                 const std::string& name) {
  if (magic.starts_with(single)) return;
  if (magic.starts_with(pair))
    refuse(name, "is one half of a pair of header and image; convert it to a single .nii file");
  refuse(name, "is not NIfTI (its magic bytes are others); expected .nii or .nii.gz");
}

template <class Header>
RawHeader read_version(GzipInput& input, std::int32_t first_bytes, bool is_swapped,
                       void (*swap)(Header*), const std::string& name) {
  std::vector<std::uint8_t> bytes(sizeof(Header));
  std::memcpy(bytes.data(), &first_bytes, sizeof(first_bytes));
  input.read(std::span(bytes).subspan(sizeof(first_bytes)));
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(Header));
  const std::string_view magic(header.magic, sizeof(header.magic));
  if constexpr (sizeof(Header) == sizeof(nifti_1_header)) {
    check_magic(magic, "n+1", "ni1", name);
  } else {
    check_magic(magic, "n+2", "ni2", name);
  }
  if (is_swapped) swap(&header);
  return widen_header(header);
}

void check_sizes(const RawHeader& raw, const GzipInput& input, int item_size,
                 const std::string& name) {
  const std::int64_t num_axes = raw.dim[0];
  if (num_axes < 1 || num_axes > 7)
    refuse(name, fmt::format("says that it has {} axes, expected 3: the header is damaged; export "
                             "the scan again",
                             num_axes));
  const std::span axes = std::span(raw.dim).subspan(1, static_cast<std::size_t>(num_axes));
  const std::string sides = fmt::format("{}", fmt::join(axes, " x "));
  const auto is_one = [](std::int64_t side) { return side == 1; };
  if (num_axes < 3)
    refuse(name, fmt::format("holds a picture ({}), expected a volume of 3 axes", sides));
  if (!std::ranges::all_of(axes.subspan(3), is_one))
    refuse(name,
           fmt::format("holds {} axes ({}), expected one volume of 3: save one volume of them "
                       "to a file of its own",
                       num_axes, sides));
  std::int64_t voxels = 1;
  for (const std::int64_t side : axes.first(3)) {
    if (side < 1)
      refuse(name, fmt::format("says that it is {} voxels large: the header is damaged; export the "
                               "scan again",
                               sides));
    if (side > kMostCtVoxels / voxels)
      refuse(name, fmt::format("says that it is {} voxels large, of which at most {} can be read: "
                               "the header is damaged, or the scan has to be made smaller first",
                               sides, kMostCtVoxels));
    voxels *= side;
  }
  const std::uint64_t needed = static_cast<std::uint64_t>(voxels) * item_size;
  if (needed > input.most_bytes())
    refuse(name, fmt::format("is cut short: {} voxels take {} bytes, more than the file can hold; "
                             "copy or export it again",
                             sides, needed));
}

int size_of_type(const RawHeader& raw, const std::string& name) {
  switch (raw.datatype) {
    case DT_INT8:
    case DT_UINT8:
    case DT_INT16:
    case DT_UINT16:
    case DT_INT32:
    case DT_UINT32:
    case DT_INT64:
    case DT_UINT64:
    case DT_FLOAT32:
    case DT_FLOAT64: {
      int item_size = 0;
      int swap_size = 0;
      nifti_datatype_sizes(raw.datatype, &item_size, &swap_size);
      return item_size;
    }
    default:
      refuse(name,
             fmt::format("holds values of type {} (code {}), expected integers or floats of 8 "
                         "to 64 bits; convert it to int16",
                         nifti_datatype_string(raw.datatype), raw.datatype));
  }
}

volume::Affine qform_of(const RawHeader& raw, const std::string& name) {
  for (std::size_t axis = 1; axis <= 3; ++axis) {
    if (!(raw.pixdim[axis] > 0) || !std::isfinite(raw.pixdim[axis]))
      refuse(name, fmt::format("says that its voxels are {} x {} x {} mm large, expected positive "
                               "numbers; correct pixdim in its header",
                               raw.pixdim[1], raw.pixdim[2], raw.pixdim[3]));
  }
  double length = 0;
  for (const double part : raw.quaternion) length += part * part;
  if (!(length <= 1 + kQuaternionSlack))
    refuse(name,
           "has a qform whose quaternion is longer than 1: the header is damaged; export the "
           "scan again");
  const double handedness = raw.pixdim[0] < 0 ? -1 : 1;
  const nifti_dmat44 matrix = nifti_quatern_to_dmat44(
      raw.quaternion[0], raw.quaternion[1], raw.quaternion[2], raw.shift[0], raw.shift[1],
      raw.shift[2], raw.pixdim[1], raw.pixdim[2], raw.pixdim[3], handedness);
  volume::Affine affine;
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 4; ++column) affine[row][column] = matrix.m[row][column];
  return affine;
}

/// Throws if the affine holds no numbers, or a voxel would have no volume.
void check_affine(const volume::Affine& affine, const std::string& name) {
  std::array<double, 3> squares{};
  for (const auto& row : affine) {
    for (const double value : row)
      if (!std::isfinite(value))
        refuse(name, "has an affine with values that are no numbers; correct its sform or qform");
    for (std::size_t axis = 0; axis < 3; ++axis) squares[axis] += row[axis] * row[axis];
  }
  const auto& [x, y, z] = affine;
  const double volume = x[0] * (y[1] * z[2] - y[2] * z[1]) - x[1] * (y[0] * z[2] - y[2] * z[0]) +
                        x[2] * (y[0] * z[1] - y[1] * z[0]);
  const double box = std::sqrt(squares[0] * squares[1] * squares[2]);
  if (!(std::abs(volume) > 1e-6 * box))
    refuse(name, fmt::format("has an affine by which voxels are flat (spacing {} x {} x {} mm); "
                             "correct its sform or qform",
                             std::sqrt(squares[0]), std::sqrt(squares[1]), std::sqrt(squares[2])));
}

volume::Affine choose_affine(const RawHeader& raw, const std::string& name) {
  if (raw.sform_code <= 0 && raw.qform_code <= 0)
    refuse(name,
           "has no affine (neither sform nor qform), so that left and right, or head and "
           "feet, cannot be told; set its sform");
  const volume::Affine affine = raw.sform_code > 0 ? raw.sform : qform_of(raw, name);
  check_affine(affine, name);
  return affine;
}

void check_units(const RawHeader& raw, const std::string& name) {
  const int space = XYZT_TO_SPACE(raw.units);
  if (space == NIFTI_UNITS_UNKNOWN || space == NIFTI_UNITS_MM) return;
  refuse(name, fmt::format("measures in units of code {}, expected millimetres (2); convert its "
                           "affine and set xyzt_units",
                           space));
}

void skip_to_values(GzipInput& input, const RawHeader& raw, std::size_t header_bytes,
                    const std::string& name) {
  const auto first = static_cast<double>(header_bytes + 4);  // four bytes tell of extensions
  const double offset = raw.offset == 0 ? first : raw.offset;
  if (!(offset >= first) || offset > static_cast<double>(kMostExtensionBytes) ||
      offset != std::floor(offset))
    refuse(name,
           fmt::format("says that its values begin at byte {}, expected {} or a later one: the "
                       "header is damaged; export the scan again",
                       raw.offset, first));
  input.skip(static_cast<std::uint64_t>(offset) - header_bytes);
}

}  // namespace

NiftiHeader read_nifti_header(GzipInput& input, const std::string& name) {
  std::int32_t first_bytes = 0;
  std::array<std::uint8_t, sizeof(first_bytes)> bytes;
  input.read(bytes);
  std::memcpy(&first_bytes, bytes.data(), sizeof(first_bytes));
  std::int32_t header_bytes = first_bytes;
  NiftiHeader header;
  header.is_swapped =
      first_bytes != sizeof(nifti_1_header) && first_bytes != sizeof(nifti_2_header);
  if (header.is_swapped) nifti_swap_4bytes(1, &header_bytes);
  RawHeader raw;
  if (header_bytes == sizeof(nifti_1_header)) {
    raw = read_version<nifti_1_header>(input, first_bytes, header.is_swapped, nifti_swap_as_nifti1,
                                       name);
  } else if (header_bytes == sizeof(nifti_2_header)) {
    raw = read_version<nifti_2_header>(input, first_bytes, header.is_swapped, nifti_swap_as_nifti2,
                                       name);
  } else {
    refuse(name, "is not NIfTI (it begins otherwise); expected .nii or .nii.gz");
  }
  header.datatype = raw.datatype;
  header.item_size = size_of_type(raw, name);
  check_sizes(raw, input, header.item_size, name);
  std::copy_n(raw.dim.begin() + 1, 3, header.sizes.begin());
  check_units(raw, name);
  header.affine = choose_affine(raw, name);
  if (raw.slope != 0 && std::isfinite(raw.slope)) {
    if (!std::isfinite(raw.intercept))
      refuse(name, "has a slope but an intercept that is no number; correct scl_inter");
    header.slope = raw.slope;
    header.intercept = raw.intercept;
  }
  skip_to_values(input, raw, static_cast<std::size_t>(header_bytes), name);
  return header;
}

}  // namespace paceline::data
