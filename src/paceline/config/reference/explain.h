#pragma once

#include "paceline/config/bind.h"
#include "paceline/config/node.h"
#include "paceline/config/struct_info.h"

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace paceline::config {

/// In words, by key.
using DerivedValues = std::map<std::string, std::string, std::less<>>;

/// What a user wants to know of a key: its value, where that was written, the default, the type
/// with its limits, the help. For a section: the values of its keys. `object` is bound from
/// `written`; `derived` says in words what a run takes for keys that nobody wrote. Throws
/// ConfigError with the nearest key if there is none of this name.
std::string explain(std::string_view key, const StructInfo& info, const void* object,
                    const Node& written, const BindContext& context,
                    const DerivedValues& derived = {});

/// "integer, at least 1": a field's type and rules in words; the names to choose from for a
/// component.
std::string describe_type(const FieldInfo& field, const Catalogs& catalogs);

/// The node that wrote a key's value; nullptr for a default.
const Node* find_written(const Node& written, std::string_view key);

}  // namespace paceline::config
