#pragma once

#include "paceline/data/pack/packer.h"

#include <filesystem>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace paceline::cli {

/// What all commands that write packed sets are told in the same way.
struct Packing {
  std::filesystem::path output;  ///< train/ and val/ in it

  /// Adds --output, --mode, --samples-per-shard, --shard and --threads.
  void add_options(CLI::App& app);

  /// After parsing; without the folder. Throws ConfigError.
  data::PackOptions options() const;

 private:
  std::string mode_ = "files";
  std::string part_ = "1/1";
  data::PackOptions options_;
};

/// Throws ConfigError if what is to be written lies in the folder of what is read.
void refuse_source_as_output(const std::string& source, const std::filesystem::path& output);

/// Packs one split, "train" or "val", into its folder below `output` and tells how far it is and
/// what came out.
void pack_split(const data::Dataset& dataset, const std::string& split,
                const std::filesystem::path& output, data::PackOptions options);

/// Logs what came out, for the user.
void report_pack(const data::PackResult& result, const std::filesystem::path& folder);

}  // namespace paceline::cli
