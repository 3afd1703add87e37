#pragma once

#include <string_view>

namespace paceline::data {

struct StageTimes;  // data/loader/loader.h

/// What a loader's threads do with a sample.
enum class LoaderStage { kRead, kDecode, kTransform };

std::string_view name_of(LoaderStage stage);
/// The one that takes the most time.
LoaderStage limiting_stage(const StageTimes& times);
/// What makes that stage faster; half a sentence.
std::string_view cure_of(LoaderStage stage);

}  // namespace paceline::data
