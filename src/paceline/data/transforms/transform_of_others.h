#pragma once

#include "paceline/data/transforms/transform.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::data {

/// Throws ConfigError for a setting that one of `transforms` does not allow, and for one that has
/// its place at the end of all transforms, or moves arrays; `outer` is the transform around them.
void check_others(std::string_view outer, const std::vector<TransformConfig>& transforms);

/// The size after all of them, one after another.
std::optional<ImageSize> size_after(const std::vector<TransformConfig>& transforms,
                                    std::optional<ImageSize> before);
/// The size after them in any order; empty if it may hang on the order.
std::optional<ImageSize> size_after_any_order(const std::vector<TransformConfig>& transforms,
                                              std::optional<ImageSize> before);
/// The size after any one of them; empty if it hangs on which.
std::optional<ImageSize> size_after_any(const std::vector<TransformConfig>& transforms,
                                        std::optional<ImageSize> before);

/// A transform that hands images on to others, for images alone. In a recipe the Config's
/// `transforms` names them; in a program they are given to make().
template <class Config>
class TransformOfOthers : public Transform {
 public:
  TransformOfOthers(const Config& config, std::vector<TransformConfig> transforms)
      : config_(config), transforms_(std::move(transforms)) {
    config_.transforms.clear();
    for (const TransformConfig& transform : transforms_)
      config_.transforms.push_back({std::string(transform->name())});
  }
  std::string_view name() const final { return config::Schema<Config>::name; }
  void check() const final {
    check_fields(config::describe<Config>(), &config_);
    check_others(name(), transforms_);
  }
  config::Node written() const final {
    config::Node node = written_settings(config::describe<Config>(), &config_);
    config::Node others = config::Node::list();
    for (const TransformConfig& transform : transforms_)
      others.items.push_back(transform->written());
    node.set("transforms", std::move(others));
    return node;
  }

 protected:
  const Config& config() const { return config_; }
  const std::vector<TransformConfig>& transforms() const { return transforms_; }

 private:
  Config config_;
  std::vector<TransformConfig> transforms_;
};

}  // namespace paceline::data
