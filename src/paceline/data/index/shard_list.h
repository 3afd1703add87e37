#pragma once

#include "paceline/data/storage/storage.h"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::data {

/// What a shell makes of braces: "a-{00..02}.tar" gives three texts, "{x,y}{1,2}" four; numbers are
/// as wide as the first one is written. Braces may be nested; a text without any gives itself.
/// Throws DataError for a brace that is not closed, or more than a million texts.
std::vector<std::string> expand_braces(std::string_view text);

/// Whether one of * ? [ is in it.
bool has_wildcards(const std::filesystem::path& path);

/// The files that `pattern` names, in its order: by braces, wildcards (* ? [...]; sorted) and, for
/// a folder, all *.tar in it (sorted). They are relative to `root`, as the pattern is, or absolute.
/// In remote places only the last part of a path may have wildcards. Throws DataError if one is not
/// there (for remote ones that is not looked at) or none is named.
std::vector<std::filesystem::path> list_shards(
    const std::filesystem::path& root, const std::string& pattern,
    const std::shared_ptr<const Storage>& storage = local_storage());

}  // namespace paceline::data
