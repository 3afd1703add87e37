#pragma once

#include "paceline/base/error.h"
#include "paceline/config/component.h"
#include "paceline/config/schema.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

namespace paceline::config {

/// The components of one kind with their factories. Registration is explicit and happens once, in
/// the composition root; afterwards the registry is only read, from any thread.
template <class Interface, class... Args>
class Registry : public ComponentCatalog {
 public:
  using ComponentCatalog::ComponentCatalog;

  template <class Options>
  using Factory = std::function<std::unique_ptr<Interface>(const Options&, Args...)>;

  /// Registers a component in its one form: the header that declares Options has its Schema and, in
  /// the namespace of Options, std::unique_ptr<Interface> make(const Options&, Args...).
  template <class Options>
  void add() {
    add<Options>(make_of<Options>());
  }

  /// Registers one of several components that share Options and make(), with its own defaults.
  template <class Options>
  void add(std::string name, std::string summary, Options defaults) {
    add<Options>(std::move(name), std::move(summary), std::move(defaults), make_of<Options>());
  }

  /// Registers a component under its schema's name; for factories that keep something.
  template <class Options>
  void add(Factory<Options> factory) {
    add<Options>(std::string(Schema<Options>::name), std::string(Schema<Options>::summary),
                 Options{}, std::move(factory));
  }

  /// The same for one of several components that share an options struct, with its own defaults.
  template <class Options>
  void add(std::string name, std::string summary, Options defaults, Factory<Options> factory) {
    const StructInfo& info = describe<Options>();
    add_entry({name, std::move(summary), info.paper, &info, [defaults = std::move(defaults)] {
                 return std::shared_ptr<void>(std::make_shared<Options>(defaults));
               }});
    factories_.emplace(std::move(name),
                       [factory = std::move(factory)](const Component& component, Args... args) {
                         return factory(component.as<Options>(), std::forward<Args>(args)...);
                       });
  }

  /// Builds a bound component.
  std::unique_ptr<Interface> build(const Component& component, Args... args) const {
    const auto factory = factories_.find(component.name);
    PACELINE_CHECK(factory != factories_.end(), "there is no {} named '{}'", kind(),
                   component.name);
    return factory->second(component, std::forward<Args>(args)...);
  }

 private:
  template <class Options>
  static Factory<Options> make_of() {
    return [](const Options& options, Args... args) -> std::unique_ptr<Interface> {
      return make(options, std::forward<Args>(args)...);  // found beside Options
    };
  }

  std::map<std::string, std::function<std::unique_ptr<Interface>(const Component&, Args...)>>
      factories_;
};

}  // namespace paceline::config
