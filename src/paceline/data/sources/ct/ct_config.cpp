#include "paceline/data/sources/ct/ct_config.h"

#include "paceline/data/transforms/draw.h"

#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace paceline::data {

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 9> kUnits{{{"", 1},
                                                                       {"B", 1},
                                                                       {"KiB", 0x1p10},
                                                                       {"MiB", 0x1p20},
                                                                       {"GiB", 0x1p30},
                                                                       {"TiB", 0x1p40},
                                                                       {"MB", 1e6},
                                                                       {"GB", 1e9},
                                                                       {"TB", 1e12}}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  while (text.starts_with(' ')) text.remove_prefix(1);
  for (const auto& [unit, bytes] : kUnits) {
    const double size = number * bytes;
    if (text == unit && size >= 1 && size <= 0x1p62) return static_cast<std::uint64_t>(size);
  }
  return std::nullopt;
}

}  // namespace paceline::data

namespace paceline::config {

void Schema<data::CtGeometryConfig>::validate(const Config& values, Problems& problems) {
  if (values.source_to_isocentre_mm.has_value() == values.source_to_detector_mm.has_value()) return;
  const bool has_source = values.source_to_isocentre_mm.has_value();
  problems.add(has_source ? "source_to_isocentre_mm" : "source_to_detector_mm",
               fmt::format("a cone beam needs {}, too; leave both out for parallel beams",
                           has_source ? "source_to_detector_mm" : "source_to_isocentre_mm"));
}

void Schema<data::CtAugmentationConfig>::validate(const Config& values, Problems& problems) {
  data::check_order("scale", values.scale, problems);
  data::check_order("gain", values.gain, problems);
}

void Schema<data::CtConfig>::validate(const Config& values, Problems& problems) {
  const auto& [low, high] = values.hu_window;
  if (!(low < high))
    problems.add("hu_window",
                 fmt::format("the lowest number comes first and differs from the highest, got [{}, "
                             "{}]: write [-1000, 3000]",
                             low, high));
  if (values.xrays == data::XraySource::kFiles && values.augment.moves())
    problems.add("xrays",
                 "the views of a moved patient have to be projected anew: write projected, or "
                 "leave flip, turn_degrees, shift_mm and scale out of data.augment");
  if (values.cache_in_memory && !data::parse_byte_size(*values.cache_in_memory))
    problems.add("cache_in_memory", fmt::format("expected a size as 8GiB or 500MB, got \"{}\"",
                                                *values.cache_in_memory));
}

}  // namespace paceline::config
