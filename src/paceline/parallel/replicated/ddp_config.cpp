#include "paceline/parallel/replicated/ddp_config.h"

#include <cmath>
#include <cstdint>

namespace paceline::parallel {
namespace {

std::int64_t to_bytes(double mib) { return std::llround(mib * (1 << 20)); }

}  // namespace

tensor::FlatLayoutOptions layout_options(const DdpConfig& config) {
  return {.first_bucket_bytes = to_bytes(config.first_bucket_mib),
          .bucket_bytes = to_bytes(config.bucket_mib),
          .last_bucket_bytes = to_bytes(config.last_bucket_mib),
          .order = config.bucket_order};
}

}  // namespace paceline::parallel
