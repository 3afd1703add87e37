#include "paceline/app/recipe/preprocessing.h"

#include "paceline/base/text.h"
#include "paceline/config/write.h"
#include "paceline/data/transforms/named/geometry/center_crop.h"
#include "paceline/data/transforms/named/geometry/resize.h"
#include "paceline/data/transforms/normalize.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace paceline::app {
namespace {

data::ResizeConfig prepared(data::ResizeConfig resize, const config::Sides& cropped,
                            const Preprocessing& by) {
  if (by.resize && by.crop) {
    resize.size = cropped;
    for (int& length : resize.size.lengths)
      length = static_cast<int>(std::int64_t{length} * *by.resize / *by.crop);
  }
  resize.interpolation = by.interpolation.value_or(resize.interpolation);
  return resize;
}

}  // namespace

std::vector<data::TransformConfig> prepared(std::vector<data::TransformConfig> usual,
                                            const Preprocessing& by) {
  for (std::size_t i = 0; i < usual.size(); ++i) {
    if (const auto* normalize = usual[i].get_if<data::NormalizeConfig>()) {
      usual[i] =
          data::NormalizeConfig{by.mean.value_or(normalize->mean), by.std.value_or(normalize->std)};
    } else if (const auto* resize = usual[i].get_if<data::ResizeConfig>();
               resize != nullptr && i + 1 < usual.size()) {
      if (const auto* crop = usual[i + 1].get_if<data::CenterCropConfig>())
        usual[i] = prepared(*resize, crop->size, by);
    }
  }
  return usual;
}

void fill_open(const Preprocessing& known, Preprocessing& open) {
  if (!open.mean) open.mean = known.mean;
  if (!open.std) open.std = known.std;
  if (!open.interpolation) open.interpolation = known.interpolation;
  if (open.resize || open.crop) return;
  open.resize = known.resize;
  open.crop = known.crop;
}

void record_preprocessing(const Preprocessing& preprocessing, config::Node& resolved) {
  resolved.find("data")->set("preprocessing",
                             config::to_node(config::describe<Preprocessing>(), &preprocessing));
}

std::string describe(const Preprocessing& preprocessing) {
  std::vector<std::string> parts;
  if (preprocessing.resize) parts.push_back(fmt::format("resize {}", *preprocessing.resize));
  if (preprocessing.crop) parts.push_back(fmt::format("crop {}", *preprocessing.crop));
  if (preprocessing.interpolation)
    parts.push_back(
        fmt::format("interpolation {}", config::enum_name(*preprocessing.interpolation)));
  if (preprocessing.mean)
    parts.push_back(fmt::format("mean [{}]", fmt::join(*preprocessing.mean, ", ")));
  if (preprocessing.std)
    parts.push_back(fmt::format("std [{}]", fmt::join(*preprocessing.std, ", ")));
  return base::join(parts, ", ");
}

}  // namespace paceline::app

void paceline::config::Schema<paceline::app::Preprocessing>::validate(const Config& values,
                                                                      Problems& problems) {
  if (values.resize && !values.crop) {
    problems.add("resize", "needs data.preprocessing.crop, the side that is cut of what it makes");
  } else if (values.resize && *values.resize < *values.crop) {
    problems.add("resize", fmt::format("{} pixels have no room for a crop of {}", *values.resize,
                                       *values.crop));
  }
}
