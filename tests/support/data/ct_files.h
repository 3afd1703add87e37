#pragma once

#include "paceline/base/hash.h"
#include "paceline/data/formats/npy_file.h"
#include "paceline/volume/phantom.h"
#include "support/temp_folder.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace paceline::test {

/// What `paceline data prepare ct` writes, of phantoms: patient `index` of a split is
/// draw_phantom(1, seed of the split + index).
struct CtFiles {
  double fov_mm = 400;
  std::vector<std::int64_t> sides{8, 4};
  std::int64_t train = 3;
  std::int64_t val = 2;
  std::int64_t test = 1;

  static volume::Phantom phantom(const std::string& split, std::int64_t index, double fov_mm) {
    const std::uint64_t first = split == "train" ? 0 : split == "val" ? 1000 : 2000;
    return volume::draw_phantom(1, first + static_cast<std::uint64_t>(index), fov_mm);
  }

  std::vector<std::int16_t> cube(const std::string& split, std::int64_t index,
                                 std::int64_t side) const {
    const volume::CubeGrid grid{static_cast<int>(side), fov_mm};
    std::vector<std::int16_t> cube;
    for (const float value : volume::voxels_of(phantom(split, index, fov_mm), grid))
      cube.push_back(static_cast<std::int16_t>(std::lround(value)));
    return cube;
  }

  static std::string bytes_of(const std::vector<std::int16_t>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]};
  }

  void write(const TempFolder& folder, const std::string& name = "ct") const {
    const double voxel = fov_mm / static_cast<double>(sides[0]);
    nlohmann::json manifest{{"format", "paceline ct volumes"},
                            {"version", 1},
                            {"fov_mm", fov_mm},
                            {"sides", sides},
                            {"seed", 0}};
    manifest["patients"] = nlohmann::json::array();
    for (const auto& [split, count] :
         {std::pair<std::string, std::int64_t>{"train", train}, {"val", val}, {"test", test}}) {
      if (count == 0) continue;
      std::vector<std::string> arrays;
      for (const std::int64_t side : sides)
        arrays.push_back(data::npy_header("<i2", std::array{count, side, side, side}));
      for (std::int64_t index = 0; index < count; ++index) {
        nlohmann::json patient{{"patient", fmt::format("{}{:012}", split, index)},
                               {"split", split},
                               {"index", index},
                               {"source", ""},
                               {"sizes", {8, 8, 8}},
                               {"spacing_mm", {voxel, voxel, voxel}},
                               {"affine", {{voxel, 0, 0, 5}, {0, voxel, 0, 6}, {0, 0, voxel, 7}}}};
        for (std::size_t i = 0; i < sides.size(); ++i) {
          const std::string bytes = bytes_of(cube(split, index, sides[i]));
          patient["hashes"].push_back(base::xxh3_128_hex(bytes));
          arrays[i] += bytes;
        }
        manifest["patients"].push_back(patient);
      }
      for (std::size_t i = 0; i < sides.size(); ++i)
        folder.write(fmt::format("{}/{}/volume_{}.npy", name, split, sides[i]), arrays[i]);
    }
    folder.write(name + "/ct_manifest.json", manifest.dump());
  }

  /// xrays_SIZE.npy of a split: the exact views, at 0 and 90 degrees unless others are named.
  void write_xrays(const TempFolder& folder, const std::string& split, std::int64_t count,
                   std::int64_t size, const std::vector<double>& angles = {0, 90},
                   const std::string& name = "ct") const {
    std::string array = data::npy_header(
        "<u2", std::array{count, static_cast<std::int64_t>(angles.size()), size, size});
    for (std::int64_t index = 0; index < count; ++index) {
      for (const double angle : angles) {
        const volume::ViewRays rays({.fov_mm = fov_mm}, angle,
                                    {static_cast<int>(size), static_cast<int>(size)});
        for (const float integral :
             volume::exact_view(phantom(split, index, fov_mm), rays, fov_mm)) {
          const auto value =
              static_cast<std::uint16_t>(std::lround(65535 * std::min(1.0F, integral)));
          array.append(reinterpret_cast<const char*>(&value), sizeof value);
        }
      }
    }
    folder.write(fmt::format("{}/{}/xrays_{}.npy", name, split, size), array);
  }
};

}  // namespace paceline::test
