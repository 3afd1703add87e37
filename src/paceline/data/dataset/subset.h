#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::data {

/// How many samples a recipe's `data.subset` means: tiny 1,000, small 10,000, medium 100,000, large
/// 500,000, or a number; nothing for full. Throws ConfigError that names the choices.
std::optional<std::int64_t> parse_subset_size(const std::string& text);

/// `size` samples of a data set, which keep their classes, labels and order. Each class has its
/// share by the method of largest remainders. Which of its samples are taken is a function of the
/// seed, the class's size and the ranks of their names in it, so it is the same in every format
/// that keeps names. Gives back `dataset` itself if it is no larger. O(number of samples) at the
/// start.
std::unique_ptr<Dataset> make_subset(std::unique_ptr<Dataset> dataset, std::int64_t size,
                                     std::uint64_t seed);

/// The order in which names are ranked: byte by byte, but what is neither letter nor digit comes
/// before them and counts as equal, unless all else is equal. So names rank alike with what some
/// formats add behind them: a_2.JPEG, a_20.JPEG as a_2_x.JPEG, a_20_x.JPEG.
bool ranks_before(std::string_view a, std::string_view b);

}  // namespace paceline::data
