#pragma once

#include "paceline/base/file.h"
#include "paceline/dataset_tools/synth.h"

#include <cstdint>
#include <memory>
#include <string>

namespace paceline::dataset_tools {

/// How X-rays of phantoms are made.
enum class PhantomXrays {
  kExact,      ///< of the ellipsoids, without voxels
  kTrilinear,  ///< of the stored volume, as volume::RayMethod says; so is the next
  kSiddon,
};

/// What synthesize_phantoms writes.
struct PhantomSetOptions {
  std::string path;
  int patients = 40;      ///< at most kMaxPhantoms; data prepare ct splits so many into all three
  int size = 128;         ///< voxels of a side, 8 to kMaxPhantomSize
  int xray_size = 512;    ///< pixels of a side, 8 to kMaxPhantomXraySize
  double fov_mm = 400;    ///< side of the cube of voxels, and of what X-rays show
  double full_scale = 3;  ///< which integral, as of volume::project(), is white; all lie below 3
  PhantomXrays xrays = PhantomXrays::kExact;
  std::uint64_t seed = 1;
};

inline constexpr int kMaxPhantoms = 1'000'000;
inline constexpr int kMaxPhantomSize = 512;
inline constexpr int kMaxPhantomXraySize = 4096;

/// "phantom_000012": the name of a patient and of its folder.
std::string phantom_name(int index);

/// Writes patients of volume::draw_phantom(): ID/ID.nii.gz (int16 HU), ID/ID_organs.nii.gz (uint8,
/// volume::Organ), ID/ID_pa_drr.png and ID/ID_lat_drr.png (16-bit grey; the integral of what
/// weakens X-rays, relative to water and the cube's side, over full_scale, clamped; by parallel
/// beams from the front and from the left). A patient is a function of its number and of the
/// options without the number of patients. Returns and throws as synthesize_image_folder() does;
/// `progress` counts patients.
bool synthesize_phantoms(
    const PhantomSetOptions& options, int num_threads = 0, const SynthProgress& progress = {},
    const std::shared_ptr<base::FileSystem>& files = std::make_shared<base::RealFileSystem>());

}  // namespace paceline::dataset_tools
