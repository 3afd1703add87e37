#include "paceline/dataset_tools/ct/xray_views.h"

#include "paceline/base/error.h"

#include <charconv>
#include <cmath>

#include <fmt/ranges.h>

namespace paceline::dataset_tools {
namespace {

namespace fs = std::filesystem;

constexpr double kFrontal = 0;
constexpr double kLateral = 90;

}  // namespace

std::string view_name(double angle_degrees) {
  if (angle_degrees == kFrontal) return "frontal";
  if (angle_degrees == kLateral) return "lateral";
  return fmt::format("{}", angle_degrees);
}

std::optional<double> view_angle(std::string_view word) {
  if (word == "frontal") return kFrontal;
  if (word == "lateral") return kLateral;
  double angle = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), angle);
  if (error != std::errc() || end != word.data() + word.size() || !std::isfinite(angle))
    return std::nullopt;
  return angle;
}

std::vector<std::string> view_marks(double angle_degrees) {
  if (angle_degrees == kFrontal) return {"_pa_drr", "_pa", "_frontal"};
  if (angle_degrees == kLateral) return {"_lat_drr", "_lat", "_lateral"};
  return {"_" + view_name(angle_degrees)};
}

fs::path find_view(std::span<const fs::path> entries, const std::string& id, double angle_degrees,
                   const std::string& name) {
  std::vector<fs::path> found;
  for (const fs::path& path : entries) {
    const std::string stem = path.stem().string();
    for (const std::string& mark : view_marks(angle_degrees))
      if (path.has_extension() && stem == id + mark) found.push_back(path);
  }
  if (found.size() > 1)
    throw base::DataError(fmt::format("{} has {} files for the {} X-ray; leave one of them", name,
                                      found.size(), view_name(angle_degrees)));
  return found.empty() ? fs::path() : found[0];
}

std::string expected_view_files(double angle_degrees) {
  std::vector<std::string> names;
  for (const std::string& mark : view_marks(angle_degrees))
    names.push_back(fmt::format("ID{}.png", mark));
  return fmt::format("{} (or .jpg, .tif, .dcm)", fmt::join(names, ", "));
}

}  // namespace paceline::dataset_tools
