#include "paceline/data/sources/ct/ct_constants.h"

#include <string>

namespace paceline::data {

SampleConstants ct_constants(const CtConfig& config, double fov_mm) {
  const CtGeometryConfig& geometry = config.geometry;
  SampleConstants constants{{std::string(kHuWindow), {config.hu_window[0], config.hu_window[1]}},
                            {std::string(kFullScale), {config.full_scale}},
                            {std::string(kFovMm), {fov_mm}},
                            {std::string(kViewAngles), geometry.angles},
                            {std::string(kConeBeam), {}},
                            {std::string(kRayMethod), {static_cast<double>(config.projector)}}};
  if (geometry.source_to_isocentre_mm && geometry.source_to_detector_mm)
    constants[std::string(kConeBeam)] = {*geometry.source_to_isocentre_mm,
                                         *geometry.source_to_detector_mm};
  return constants;
}

}  // namespace paceline::data
