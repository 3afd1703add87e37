#include "paceline/data/loader/loader_stage.h"

#include "paceline/data/loader/loader.h"

#include <algorithm>

namespace paceline::data {

std::string_view name_of(LoaderStage stage) {
  switch (stage) {
    case LoaderStage::kRead:
      return "reading";
    case LoaderStage::kDecode:
      return "decoding";
    case LoaderStage::kTransform:
      return "transforms";
  }
  return "";
}

LoaderStage limiting_stage(const StageTimes& times) {
  if (times.read_s >= std::max(times.decode_s, times.transform_s)) return LoaderStage::kRead;
  return times.decode_s >= times.transform_s ? LoaderStage::kDecode : LoaderStage::kTransform;
}

std::string_view cure_of(LoaderStage stage) {
  switch (stage) {
    case LoaderStage::kRead:
      return "use a faster disk or one that is near, or `paceline data pack`";
    case LoaderStage::kDecode:
      return "`paceline data pack --mode coefficients`, or more data.num_threads";
    case LoaderStage::kTransform:
      return "a smaller data.image_size, fewer transforms, or more data.num_threads";
  }
  return "";
}

}  // namespace paceline::data
