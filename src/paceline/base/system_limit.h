#pragma once

#include <string>
#include <string_view>

namespace paceline::base {

/// Which limit stands behind an errno, and how to raise it: "no more threads and processes can be
/// started: raise ...". Empty where none does.
std::string limit_behind(int error_number);

/// The same for an error of a library, which is known by its words alone.
std::string limit_named_in(std::string_view message);

/// Throws ConfigError unless so many threads can be started now, besides those that run. Libraries
/// that find out by themselves end the process.
void require_threads(int count);

/// Throws ConfigError where the limit of descriptors is below `count`: at it, libraries that accept
/// connections end the process.
void require_descriptors(int count);

/// The same for so many besides those that are open now, and a few for what comes with them.
void require_more_descriptors(int count);

}  // namespace paceline::base
