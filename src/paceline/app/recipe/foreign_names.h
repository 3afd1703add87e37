#pragma once

#include "paceline/config/component.h"
#include "paceline/config/foreign_names.h"

#include <optional>
#include <string>
#include <string_view>

namespace paceline::app {

/// The names of torchrun, timm, Lightning, Composer, Hydra and the like, by one table
/// (foreign_table.h).
class KnownForeignNames final : public config::ForeignNames {
 public:
  /// `algorithms`: those that a recipe can add; must outlive this.
  explicit KnownForeignNames(const config::ComponentCatalog& algorithms)
      : algorithms_(algorithms) {}

  std::optional<std::string> key_advice(std::string_view section, std::string_view key,
                                        const config::Node& value, int world_size) const override;
  /// The key's last part decides.
  std::optional<std::string> translate(std::string_view key, std::string_view value) const override;

  /// key_advice() for an option: "--sync-bn", "-b", "--lr=0.1"; `value` is the argument after it,
  /// if any.
  std::optional<std::string> option_advice(std::string_view option, std::string_view value,
                                           int world_size = 0) const;

 private:
  const config::ComponentCatalog& algorithms_;
};

}  // namespace paceline::app
