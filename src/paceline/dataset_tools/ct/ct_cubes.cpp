#include "paceline/dataset_tools/ct/ct_cubes.h"

#include "paceline/dataset_tools/ct/cube.h"
#include "paceline/dataset_tools/ct/orient.h"

namespace paceline::dataset_tools {

CtCubes make_cubes(data::CtVolume volume, const CtSettings& settings, const std::string& name) {
  require_right_angles(volume.affine, name);
  volume = orient_to_ras(std::move(volume));
  CtCube cube = resample_to_cube(volume, settings.fov_mm, settings.sides[0]);
  CtCubes cubes{
      .sizes = volume.sizes, .spacing_mm = spacing_of(volume.affine), .affine = cube.affine};
  for (const std::int64_t side : settings.sides) {
    while (cube.side > side) cube = halve(cube);
    cubes.values.push_back(to_hounsfield(cube.values));
  }
  return cubes;
}

}  // namespace paceline::dataset_tools
