#include "paceline/volume/nifti_writer.h"

#include "paceline/base/error.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include <zlib.h>

namespace paceline::volume {
namespace {

static_assert(std::endian::native == std::endian::little, "values are written as they lie");

// The layout of NIfTI-1's header: https://nifti.nimh.nih.gov/pub/dist/src/niftilib/nifti1.h.
constexpr std::size_t kHeaderBytes = 348;
constexpr std::size_t kValuesAt = 352;  // after the header and four bytes that say: no extensions
constexpr std::size_t kDimAt = 40;
constexpr std::size_t kDatatypeAt = 70;
constexpr std::size_t kBitsAt = 72;
constexpr std::size_t kPixdimAt = 76;
constexpr std::size_t kValuesOffsetAt = 108;
constexpr std::size_t kSlopeAt = 112;
constexpr std::size_t kUnitsAt = 123;
constexpr std::size_t kDescriptionAt = 148;
constexpr std::size_t kDescriptionBytes = 80;
constexpr std::size_t kQformAt = 252;
constexpr std::size_t kSformAt = 254;
constexpr std::size_t kQuaternionAt = 256;
constexpr std::size_t kRowsAt = 280;
constexpr std::size_t kMagicAt = 344;
constexpr std::int16_t kScannerSpace = 1;
constexpr char kMillimetres = 2;

struct Datatype {
  std::int16_t code;
  std::int16_t bits;
};
Datatype datatype_of(float) { return {16, 32}; }
Datatype datatype_of(std::int16_t) { return {4, 16}; }
Datatype datatype_of(std::uint8_t) { return {2, 8}; }

template <class Value>
void put(std::string& bytes, std::size_t at, Value value) {
  std::memcpy(bytes.data() + at, &value, sizeof(value));
}

/// The rotation of an affine as the last three numbers of a quaternion, its offsets, the sizes of
/// voxels and the sign of the third axis, as nifti_mat44_to_quatern has them.
struct Qform {
  std::array<double, 3> quaternion{};
  std::array<double, 3> voxel{};
  double sign = 1;
  bool is_exact = true;  ///< whether the axes are at right angles
};

double dot(const std::array<double, 3>& a, const std::array<double, 3>& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/// The largest of w, x, y, z is taken first, which divides the others.
std::array<double, 3> quaternion_of(const std::array<std::array<double, 3>, 3>& r) {
  const double trace = r[0][0] + r[1][1] + r[2][2];
  const std::array<double, 4> squares{1 + trace, 1 + 2 * r[0][0] - trace, 1 + 2 * r[1][1] - trace,
                                      1 + 2 * r[2][2] - trace};  // four times each one's square
  const std::array<double, 3> differences{r[2][1] - r[1][2], r[0][2] - r[2][0], r[1][0] - r[0][1]};
  const auto largest =
      static_cast<std::size_t>(std::ranges::max_element(squares) - squares.begin());
  const double root = std::sqrt(squares.at(largest));
  if (largest == 0)
    return {differences[0] / (2 * root), differences[1] / (2 * root), differences[2] / (2 * root)};
  const std::size_t own = largest - 1;
  std::array<double, 3> parts{};
  for (std::size_t i = 0; i < 3; ++i)
    parts.at(i) = i == own ? root / 2 : (r.at(own).at(i) + r.at(i).at(own)) / (2 * root);
  if (differences.at(own) < 0) {  // w is not written and counts as positive
    for (double& part : parts) part = -part;
  }
  return parts;
}

Qform qform_of(const Affine& affine) {
  Qform form;
  std::array<std::array<double, 3>, 3> axes{};  // columns
  for (std::size_t column = 0; column < 3; ++column) {
    for (std::size_t row = 0; row < 3; ++row) axes.at(column).at(row) = affine.at(row).at(column);
    form.voxel.at(column) = std::sqrt(dot(axes.at(column), axes.at(column)));
    for (double& part : axes.at(column)) part /= form.voxel.at(column);
  }
  for (const auto& [a, b] : {std::array{0U, 1U}, std::array{0U, 2U}, std::array{1U, 2U}})
    form.is_exact = form.is_exact && std::abs(dot(axes.at(a), axes.at(b))) < 1e-6;
  const std::array<double, 3> cross{axes[0][1] * axes[1][2] - axes[0][2] * axes[1][1],
                                    axes[0][2] * axes[1][0] - axes[0][0] * axes[1][2],
                                    axes[0][0] * axes[1][1] - axes[0][1] * axes[1][0]};
  if (dot(cross, axes[2]) < 0) {
    form.sign = -1;
    for (double& part : axes[2]) part = -part;
  }
  std::array<std::array<double, 3>, 3> rotation{};
  for (std::size_t row = 0; row < 3; ++row) {
    for (std::size_t column = 0; column < 3; ++column)
      rotation.at(row).at(column) = axes.at(column).at(row);
  }
  form.quaternion = quaternion_of(rotation);
  return form;
}

void put_affine(std::string& bytes, const Affine& affine) {
  const Qform form = qform_of(affine);
  put(bytes, kPixdimAt, static_cast<float>(form.sign));
  for (std::size_t axis = 0; axis < 3; ++axis)
    put(bytes, kPixdimAt + 4 * (axis + 1), static_cast<float>(form.voxel.at(axis)));
  put(bytes, kQformAt, form.is_exact ? kScannerSpace : std::int16_t{0});
  put(bytes, kSformAt, kScannerSpace);
  for (std::size_t axis = 0; axis < 3; ++axis) {
    put(bytes, kQuaternionAt + 4 * axis, static_cast<float>(form.quaternion.at(axis)));
    put(bytes, kQuaternionAt + 12 + 4 * axis, static_cast<float>(affine.at(axis)[3]));
    for (std::size_t column = 0; column < 4; ++column)
      put(bytes, kRowsAt + 16 * axis + 4 * column, static_cast<float>(affine.at(axis).at(column)));
  }
}

void put_sizes(std::string& bytes, const std::array<int, 3>& sizes) {
  put(bytes, 0, static_cast<std::int32_t>(kHeaderBytes));
  put(bytes, kDimAt, std::int16_t{3});
  for (std::size_t i = 0; i < 7; ++i) {
    const int size = i < 3 ? sizes.at(i) : 1;
    if (size < 1 || size > std::numeric_limits<std::int16_t>::max())
      throw base::ConfigError(
          fmt::format("a NIfTI-1 file has 1 to 32767 voxels along each axis, got {}", size));
    put(bytes, kDimAt + 2 * (i + 1), static_cast<std::int16_t>(size));
  }
}

}  // namespace

Affine affine_of_cube(int side, double fov_mm) {
  const double voxel = fov_mm / side;
  const double first = (voxel - fov_mm) / 2;
  return {{{voxel, 0, 0, first}, {0, voxel, 0, first}, {0, 0, voxel, first}}};
}

std::string nifti_bytes(const NiftiVolume& volume) {
  std::string bytes(kValuesAt, '\0');
  put_sizes(bytes, volume.sizes);
  put_affine(bytes, volume.affine);
  put(bytes, kValuesOffsetAt, static_cast<float>(kValuesAt));
  put(bytes, kSlopeAt, 1.0F);
  bytes[kUnitsAt] = kMillimetres;
  std::ranges::copy(volume.description.substr(0, kDescriptionBytes - 1),
                    bytes.begin() + kDescriptionAt);
  std::memcpy(bytes.data() + kMagicAt, "n+1", 4);
  std::visit(
      [&](const auto& values) {
        std::size_t count = 1;
        for (const int size : volume.sizes) count *= static_cast<std::size_t>(size);
        PACELINE_CHECK(values.size() == count, "{} values of {} voxels", values.size(), count);
        const Datatype type = datatype_of(values[0]);
        put(bytes, kDatatypeAt, type.code);
        put(bytes, kBitsAt, type.bits);
        bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
      },
      volume.values);
  return bytes;
}

std::string gzipped_nifti_bytes(const NiftiVolume& volume) {
  constexpr int kGzip = 16 + MAX_WBITS;
  constexpr int kMemory = 8;
  constexpr int kFast = 3;  // noise of scanners hardly gets smaller by more
  const std::string bytes = nifti_bytes(volume);
  z_stream stream{};
  const int begun = deflateInit2(&stream, kFast, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY);
  PACELINE_CHECK(begun == Z_OK, "zlib: {}", begun);
  std::string packed(deflateBound(&stream, bytes.size()), '\0');
  // zlib counts what is left in 32 bits.
  std::size_t read = 0;
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  int state = Z_OK;
  while (state == Z_OK) {
    constexpr std::size_t kAtOnce = 1U << 30U;
    const std::size_t count = std::min(kAtOnce, bytes.size() - read);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data() + read));
    stream.avail_in = static_cast<uInt>(count);
    stream.avail_out =
        static_cast<uInt>(std::min<std::size_t>(2 * kAtOnce, packed.size() - stream.total_out));
    read += count;
    state = deflate(&stream, read == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    read -= stream.avail_in;
  }
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  PACELINE_CHECK(state == Z_STREAM_END, "zlib: {}", state);
  return packed;
}

}  // namespace paceline::volume
