#pragma once

#include "paceline/base/philox.h"
#include "paceline/data/loader/sample_maker.h"
#include "paceline/data/sources/ct/ct_config.h"
#include "paceline/volume/cube_motion.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace paceline::data {

/// What is drawn for a sample before noise.
struct CtDraw {
  volume::CubeMotion motion;
  std::vector<double> gains;  ///< of each view
};

/// The same draws in the same order whatever is augmented.
CtDraw draw_augmentation(const CtAugmentationConfig& config, std::size_t num_views,
                         base::Philox& draws);

/// Makes of stored patients two fields of float32, both in [-1, 1]: `volume` [side, side, side], by
/// data.hu_window, and `xrays` [views, size, size]. In training by data.augment: volume and
/// views are of one draw, which is a function of the key. Where that changes X-rays, there is a
/// third field, kCleanXraysField: the same without gain and noise.
class CtMaker final : public SampleMaker {
 public:
  /// `stored` are fields of CtDataset, with or without X-rays; without them `xray_size` is that of
  /// projected ones.
  CtMaker(CtConfig config, std::vector<FieldSpec> stored, std::int64_t xray_size, bool is_training);

  const std::vector<FieldSpec>& fields() const override { return fields_; }
  EraseSteps make(const StoredSample& sample, const DrawKey& key, TransformScratch& scratch,
                  std::span<std::byte* const> targets) const override;

 private:
  struct Parts;  // of a stored sample
  Parts parts_of(const StoredSample& sample) const;
  void make_xrays(const Parts& parts, std::span<const float> hu, const CtDraw& draw,
                  base::Philox& draws, std::span<std::byte* const> targets) const;

  CtConfig config_;
  std::vector<FieldSpec> stored_;
  std::vector<FieldSpec> fields_;
  std::int64_t side_;
  std::int64_t xray_size_;
  bool is_training_;
};

}  // namespace paceline::data
