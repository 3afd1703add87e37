#pragma once

#include "paceline/config/struct_info.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::config {

template <class T>
const StructInfo& describe();

/// The choice of a component and its bound options: a section such as {name: adamw, lr: 1e-3}.
/// Copies share the options, which nobody can change.
struct Component {
  std::string name;  ///< as an in-class initialiser, {"sgd"}: the default choice; empty: none
  const StructInfo* info = nullptr;               ///< of the options; nullptr until bound
  std::shared_ptr<const void> options = nullptr;  ///< nullptr until bound

  /// The options as the struct that the component was registered with.
  template <class T>
  const T& as() const {
    check_is(describe<T>());
    return *static_cast<const T*>(options.get());
  }

  /// A component made by hand, as in a test or a user's own program.
  template <class T>
  static Component of(std::string name, T options) {
    return {std::move(name), &describe<T>(), std::make_shared<const T>(std::move(options))};
  }

 private:
  void check_is(const StructInfo& expected) const;
};

/// Components of a section where each stands under its own name: {mixup: {alpha: 0.2}, ema: }.
using ComponentMap = std::map<std::string, Component>;

/// What is known of one component before it is built.
struct ComponentEntry {
  std::string name;
  std::string summary;
  std::string paper;
  const StructInfo* info = nullptr;             ///< of its options
  std::function<std::shared_ptr<void>()> make;  ///< its default options
};

/// The components of one kind ("model", "optimizer", ...) by name.
class ComponentCatalog {
 public:
  explicit ComponentCatalog(std::string kind) : kind_(std::move(kind)) {}
  const std::string& kind() const { return kind_; }
  /// nullptr if there is none of this name.
  const ComponentEntry* find(std::string_view name) const;
  std::vector<std::string> names() const;
  const std::map<std::string, ComponentEntry, std::less<>>& entries() const { return entries_; }

 protected:
  /// Throws InternalError if the name is taken.
  void add_entry(ComponentEntry entry);

 private:
  std::string kind_;
  std::map<std::string, ComponentEntry, std::less<>> entries_;
};

/// Catalogs by kind; they must outlive what is bound with them.
using Catalogs = std::map<std::string, const ComponentCatalog*, std::less<>>;

}  // namespace paceline::config
