#pragma once

#include "paceline/base/philox.h"
#include "paceline/config/schema.h"
#include "paceline/data/image/pixels.h"
#include "paceline/data/transforms/plan.h"

#include <concepts>
#include <memory>
#include <optional>
#include <utility>

namespace paceline::data {

class ArrayTransform;  // transforms/array_transform.h

/// Where a transform may stand: kNormalize before nothing but kLast, kLast before nothing.
enum class TransformPlace { kAnywhere, kNormalize, kLast };

/// What a recipe can do with images. Immutable; any number of threads may draw at once.
class Transform {
 public:
  virtual ~Transform() = default;
  virtual std::string_view name() const = 0;
  /// Throws ConfigError that names each setting its schema does not allow.
  virtual void check() const = 0;

  /// Its name and those of its settings that are not the default ones, as a recipe has them.
  virtual config::Node written() const;

  /// Appends the steps that it takes for an image of size `image`, and returns the size after
  /// them. The transforms of a pipeline draw one after another from one Philox(seed, kAugmentation,
  /// epoch, position): which numbers a transform draws, and in which order, is part of
  /// reproducibility and stands at its Config. Throws DataError if the image does not suit.
  virtual ImageSize draw(ImageSize image, base::Philox& draws, Plan& plan) const = 0;
  /// The size after it where that is the same for all images, which have size `before`, or any size
  /// if that is empty.
  virtual std::optional<ImageSize> fixed_size(std::optional<ImageSize> before) const {
    return before;
  }
  /// How many views of an image it can make, of which draw() draws one.
  virtual int num_views() const { return 1; }
  /// As draw(), for a sample of which more is known: the view that somebody chose (DrawKey::view,
  /// from 0 on), or what stays the same for it in every epoch (DrawKey::sample).
  virtual ImageSize draw_for(const DrawKey& /*key*/, ImageSize image, base::Philox& draws,
                             Plan& plan) const {
    return draw(image, draws, plan);
  }
  /// Whether it cannot do without that, and so stands in no other transform.
  virtual bool needs_sample() const { return false; }
  /// What it does to arrays; nullptr: it is for images alone.
  virtual const ArrayTransform* for_arrays() const { return nullptr; }
  /// Whether it fills in numbers of the normalised image that no byte stands for, nor one value for
  /// a whole box.
  virtual bool draws_noise() const { return false; }
  virtual TransformPlace place() const { return TransformPlace::kAnywhere; }
};

/// Throws ConfigError for values that the schema's rules refuse.
void check_fields(const config::StructInfo& info, const void* values);

/// Transform::written() of these settings.
config::Node written_settings(const config::StructInfo& info, const void* values);

/// A transform of these settings, by its Config's Schema.
template <class Config>
class TransformOf : public Transform {
 public:
  explicit TransformOf(const Config& config) : config_(config) {}
  std::string_view name() const final { return config::Schema<Config>::name; }
  void check() const final { check_fields(config::describe<Config>(), &config_); }
  config::Node written() const final {
    return written_settings(config::describe<Config>(), &config_);
  }
  const Config& config() const { return config_; }

 private:
  Config config_;
};

/// The settings of any transform, with what make() made of them: `ResizeConfig{.size = 256}` is
/// one.
class TransformConfig {
 public:
  explicit TransformConfig(std::unique_ptr<Transform> transform)
      : transform_(std::move(transform)) {}
  template <class Config>
  requires requires(const Config& config) {
    { make(config) } -> std::same_as<std::unique_ptr<Transform>>;
  }
  TransformConfig(const Config& config) : transform_(make(config)) {}

  const Transform* operator->() const { return transform_.get(); }

  /// Its settings, if they are of this type.
  template <class Config>
  const Config* get_if() const {
    const auto* of = dynamic_cast<const TransformOf<Config>*>(transform_.get());
    return of != nullptr ? &of->config() : nullptr;
  }

 private:
  std::shared_ptr<const Transform> transform_;
};

/// Transform::draw().
inline ImageSize draw_steps(const TransformConfig& transform, ImageSize image, base::Philox& draws,
                            Plan& plan) {
  return transform->draw(image, draws, plan);
}

}  // namespace paceline::data
