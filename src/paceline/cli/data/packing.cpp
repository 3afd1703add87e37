#include "paceline/cli/data/packing.h"

#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/file_status.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/work_progress.h"
#include "paceline/data/storage/storage.h"

#include <algorithm>
#include <charconv>

namespace paceline::cli {
namespace {

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const data::PackMode mode : data::kPackModes) names.emplace_back(data::name_of(mode));
  return names;
}

/// "I/N", I from 1 to N.
void take_part(const std::string& text, data::PackOptions& options) {
  const std::size_t slash = text.find('/');
  const auto number = [&](std::string_view digits) {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size() ? value : 0;
  };
  const std::string_view all = text;
  const int part = slash == std::string::npos ? 0 : number(all.substr(0, slash));
  const int count = slash == std::string::npos ? 0 : number(all.substr(slash + 1));
  if (part < 1 || part > count)
    throw base::ConfigError(fmt::format(
        "--shard wants I/N, this machine's number from 1 to N, but it is \"{}\"", text));
  options.part = part - 1;
  options.num_parts = count;
}

}  // namespace

void Packing::add_options(CLI::App& app) {
  app.add_option("-o,--output", output, "The folder to write; train/ and val/ in it")->required();
  app.add_option(
         "--mode", mode_,
         "files: the image files as they are; indexed: JPEG files with places where decoding can "
         "start, 3 % more bytes; coefficients: JPEG files without their entropy "
         "coding, the same pixels several times faster for 1.5 times the bytes; pixels: "
         "decoded, 5 times the bytes")
      ->check(CLI::IsMember(mode_names()))
      ->capture_default_str();
  app.add_option("--samples-per-shard", options_.samples_per_shard,
                 "Samples in each file; 0: 64 files of 256 to 2,048 each")
      ->check(CLI::Range(0, 100'000'000))
      ->capture_default_str();
  app.add_option("--shard", part_,
                 "I/N: several machines share the work; this one is number I of 1 to N")
      ->capture_default_str();
  add_threads(app, options_.num_threads);
}

data::PackOptions Packing::options() const {
  data::PackOptions options = options_;
  take_part(part_, options);
  options.mode = *std::ranges::find(data::kPackModes, mode_,
                                    [](data::PackMode mode) { return data::name_of(mode); });
  return options;
}

void refuse_source_as_output(const std::string& source, const std::filesystem::path& output) {
  const std::string place = data::without_file_scheme(source);
  if (!std::filesystem::is_directory(place)) return;  // an archive, a recipe or far away
  if (!base::lies_in(output, place)) return;
  throw base::ConfigError(
      fmt::format("--output {}: lies in the data set that is read, {}, whose folders would become "
                  "something else; name a folder beside it",
                  output.string(), source));
}

void pack_split(const data::Dataset& dataset, const std::string& split,
                const std::filesystem::path& output, data::PackOptions options) {
  options.folder = output / split;
  base::RealFileSystem files;
  const data::PackResult result = [&] {
    WorkProgress progress(split + " samples");
    return data::pack(dataset, options, files,
                      [&](std::int64_t done, std::int64_t total) { progress.update(done, total); });
  }();
  report_pack(result, options.folder);
}

void report_pack(const data::PackResult& result, const std::filesystem::path& folder) {
  for (const std::string& sample : result.left_out) base::log_warning("left out {}", sample);
  if (!result.left_out.empty())
    base::log_warning("{} damaged samples were left out",
                      base::format_count(std::ssize(result.left_out)));
  if (!result.is_complete()) {
    base::log_info("{}: {} shards written; {} are still to come from other parts", folder.string(),
                   result.written_shards, result.missing_shards);
    return;
  }
  base::log_info("{}: complete; {} shards written, {} were there", folder.string(),
                 result.written_shards, result.found_shards);
}

}  // namespace paceline::cli
