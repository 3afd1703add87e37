#pragma once

#include "paceline/data/dataset/dataset.h"

#include <cstdint>

namespace paceline::dataset_tools {

/// How a JPEG file keeps colour.
enum class JpegSampling { k444, k422, k420, kGrey };

/// How one file of a corpus with ImageNet's statistics is made.
struct PhotoPlan {
  int width = 0;
  int height = 0;
  JpegSampling sampling = JpegSampling::k444;
  int quality = 0;
  double contrast = 0;  ///< of the noise, about 1
};

/// The plan of picture `number`. Sizes, sampling, qualities and contrasts are spread so evenly over
/// numbers that any few hundred in a row have nearly the mix of all. The mix is that of 1,000
/// training images of ImageNet: 0.2 megapixels on average, 500 x 375 the most common size, 76 %
/// 4:4:4, two thirds of quality 96 and a tail down to 75.
PhotoPlan plan_photo(std::uint64_t seed, std::int64_t number);

/// The scene of a class under noise with the spectrum of photographs (pink), rough in some places
/// and smooth in others, in colours that follow brightness. Calibrated: files of many plans have
/// ImageNet's 110 kB, 4.35 bits per pixel and 17.5 coefficients per block, so that decoders do the
/// work that photographs make.
data::Image synthesize_photo(const PhotoPlan& plan, int class_index, std::uint64_t seed,
                             std::int64_t number);

}  // namespace paceline::dataset_tools
