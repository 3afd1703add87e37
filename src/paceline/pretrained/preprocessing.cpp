#include "paceline/pretrained/preprocessing.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/json.h"

#include <cmath>

#include <nlohmann/json.hpp>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;

constexpr double kTimmsCropPct = 0.875;
constexpr std::uint64_t kLongestConfig = std::uint64_t{1} << 20;  // bytes

/// Side of the images: the last of [channels, height, width].
int side_of(const nlohmann::json& config) {
  const auto size = config.find("input_size");
  if (size == config.end() || !size->is_array() || size->size() != 3) return Preprocessing().crop;
  return size->at(2).get<int>();
}

}  // namespace

Preprocessing preprocessing_of(const TorchvisionWeights& weights) {
  return {weights.mean, weights.std, weights.crop, weights.resize,
          std::string(weights.interpolation)};
}

std::optional<Preprocessing> preprocessing_in_config(const fs::path& config) {
  try {
    const nlohmann::json json = base::parse_json(base::read_file(config, kLongestConfig));
    if (!json.is_object() || !json.contains("pretrained_cfg")) return std::nullopt;
    const nlohmann::json& of_weights = json.at("pretrained_cfg");
    if (!of_weights.is_object()) return std::nullopt;
    Preprocessing known;
    known.mean = of_weights.value("mean", known.mean);
    known.std = of_weights.value("std", known.std);
    for (const double std : known.std) {
      if (!(std > 0))
        throw base::DataError(
            fmt::format("{}: pretrained_cfg: std {} divides nothing", config.string(), std));
    }
    known.crop = side_of(of_weights);
    const double crop_pct = of_weights.value("crop_pct", kTimmsCropPct);
    if (known.crop < 1 || known.crop > 16384 || crop_pct < 0.01 || crop_pct > 100)
      throw base::DataError(
          fmt::format("{}: pretrained_cfg: crop_pct {} of {} pixels makes no sense",
                      config.string(), crop_pct, known.crop));
    known.resize = static_cast<int>(std::floor(known.crop / crop_pct));
    known.interpolation = of_weights.value("interpolation", "bicubic");
    return known;
  } catch (const base::JsonError& error) {
    throw base::DataError(fmt::format("{}: {}", config.string(), error.what()));
  } catch (const nlohmann::json::exception& error) {
    throw base::DataError(fmt::format("{}: pretrained_cfg is not as timm writes it: {}",
                                      config.string(), error.what()));
  }
}

}  // namespace paceline::pretrained
