#pragma once

#include <cstdint>
#include <string>

namespace paceline::data {

/// How many classes ILSVRC2012 has.
inline constexpr std::int64_t kNumKitClasses = 1000;

/// The WordNet id, as n02119789, of the class that the development kit of ILSVRC2012 calls by a
/// number from 1 to kNumKitClasses: what its meta.mat says.
std::string wnid_of_kit_class(std::int64_t number);

}  // namespace paceline::data
