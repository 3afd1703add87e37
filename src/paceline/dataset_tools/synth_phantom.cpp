#include "paceline/dataset_tools/synth_phantom.h"

#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"
#include "paceline/data/codec/png_encoder.h"
#include "paceline/dataset_tools/synth_folder.h"
#include "paceline/volume/nifti_writer.h"
#include "paceline/volume/phantom.h"
#include "paceline/volume/projector.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

/// Changes when the patients do.
constexpr int kPatientVersion = 1;
constexpr const char* kDescription = "synthetic, not for diagnosis";

std::string_view name_of(PhantomXrays xrays) {
  switch (xrays) {
    case PhantomXrays::kExact:
      return "exact";
    case PhantomXrays::kTrilinear:
      return "trilinear";
    case PhantomXrays::kSiddon:
      return "siddon";
  }
  throw base::InternalError("X-rays of no kind");
}

std::string phantom_marker(const PhantomSetOptions& options) {
  return fmt::format(
      "paceline data synth --like phantom, patients version {}\npatients={} size={} xray_size={} "
      "fov_mm={} full_scale={} projector={} seed={}\n",
      kPatientVersion, options.patients, options.size, options.xray_size, options.fov_mm,
      options.full_scale, name_of(options.xrays), options.seed);
}

void check_phantom_options(const PhantomSetOptions& options) {
  const auto require = [](bool holds, const std::string& message) {
    if (!holds) throw base::ConfigError("data synth: " + message);
  };
  const auto require_between = [&](int value, int least, int most, const char* what) {
    require(value >= least && value <= most,
            fmt::format("{} is {}, expected {} to {}", what, value, least, most));
  };
  require(!options.path.empty(), "no path: give the folder to write");
  constexpr int kMinSize = 8;
  require_between(options.patients, 1, kMaxPhantoms, "patients");
  require_between(options.size, kMinSize, kMaxPhantomSize, "size");
  require_between(options.xray_size, kMinSize, kMaxPhantomXraySize, "xray_size");
  constexpr double kLargestFovMm = 10000;
  require(options.fov_mm > 0 && options.fov_mm <= kLargestFovMm,
          fmt::format("fov_mm is {}, expected more than 0 and at most {}", options.fov_mm,
                      kLargestFovMm));
  require(options.full_scale > 0 && std::isfinite(options.full_scale),
          fmt::format("full_scale is {}, expected more than 0", options.full_scale));
}

/// Writes the files of one patient.
class PhantomFiles {
 public:
  PhantomFiles(const PhantomSetOptions& options, int index, const fs::path& root,
               base::FileSystem& files)
      : options_(options),
        phantom_(
            volume::draw_phantom(options.seed, static_cast<std::uint64_t>(index), options.fov_mm)),
        stem_(root / phantom_name(index) / phantom_name(index)),
        files_(files) {}

  void write() {
    files_.create_directories(stem_.parent_path());
    write_volume();
    write_nifti("_organs.nii.gz", volume::labels_of(phantom_, grid()));
    write_xray("_pa_drr.png", geometry_.angles_degrees[0]);
    write_xray("_lat_drr.png", geometry_.angles_degrees[1]);
  }

 private:
  volume::CubeGrid grid() const { return {.side = options_.size, .fov_mm = options_.fov_mm}; }

  void write_volume() {
    const std::vector<float> exact = volume::voxels_of(phantom_, grid());
    std::vector<std::int16_t> stored(exact.size());
    std::ranges::transform(exact, stored.begin(), [](float value) {
      return static_cast<std::int16_t>(std::lround(value));
    });
    write_nifti(".nii.gz", stored);
    if (options_.xrays == PhantomXrays::kExact) return;
    attenuation_.resize(stored.size());
    std::ranges::transform(stored, attenuation_.begin(), [](std::int16_t value) {
      return static_cast<float>(volume::attenuation_of_hu(value));
    });
  }

  template <class Value>
  void write_nifti(const char* ending, const std::vector<Value>& values) {
    write_file(ending, volume::gzipped_nifti_bytes(
                           {.sizes = {options_.size, options_.size, options_.size},
                            .affine = volume::affine_of_cube(options_.size, options_.fov_mm),
                            .values = std::span<const Value>(values),
                            .description = kDescription}));
  }

  void write_xray(const char* ending, double angle_degrees) {
    const int size = options_.xray_size;
    const volume::ViewRays rays(geometry_, angle_degrees, {size, size});
    data::GrayImage image{.size = {size, size}};
    constexpr double kWhite = 65535;
    for (const float integral : integrals(rays)) {
      const double share = std::clamp(double{integral} / options_.full_scale, 0.0, 1.0);
      image.values.push_back(static_cast<std::uint16_t>(std::lround(share * kWhite)));
    }
    write_file(ending, data::encode_gray_png(image, kDescription));
  }

  std::vector<float> integrals(const volume::ViewRays& rays) const {
    if (options_.xrays == PhantomXrays::kExact)
      return volume::exact_view(phantom_, rays, options_.fov_mm);
    const auto side = static_cast<std::size_t>(options_.xray_size);
    std::vector<float> image(side * side);
    volume::project<float>(attenuation_, grid(), rays,
                           options_.xrays == PhantomXrays::kSiddon ? volume::RayMethod::kSiddon
                                                                   : volume::RayMethod::kTrilinear,
                           0, options_.xray_size, image);
    return image;
  }

  void write_file(const char* ending, const std::string& bytes) {
    const auto file = files_.create(stem_.string() + ending);
    file->write(bytes);
    file->close();
  }

  const PhantomSetOptions& options_;
  const volume::ProjectionGeometry geometry_{.fov_mm = options_.fov_mm};
  const volume::Phantom phantom_;
  const fs::path stem_;
  base::FileSystem& files_;
  std::vector<float> attenuation_;  ///< of the stored voxels, if X-rays are made of them
};

}  // namespace

std::string phantom_name(int index) { return fmt::format("phantom_{:06}", index); }

bool synthesize_phantoms(const PhantomSetOptions& options, int num_threads,
                         const SynthProgress& progress,
                         const std::shared_ptr<base::FileSystem>& files) {
  check_phantom_options(options);
  return write_synth_folder(
      options.path, phantom_marker(options), *files, [&](const fs::path& folder) {
        std::mutex mutex;
        std::int64_t done = 0;
        base::parallel_for(options.patients, num_threads, [&](std::int64_t index) {
          PhantomFiles(options, static_cast<int>(index), folder, *files).write();
          const std::lock_guard lock(mutex);
          ++done;
          if (progress) progress(done, options.patients);
        });
      });
}

}  // namespace paceline::dataset_tools
