#include "paceline/app/builtin.h"
#include "paceline/base/error.h"
#include "paceline/base/file.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data_commands.h"
#include "paceline/cli/data_source.h"
#include "paceline/cli/work_progress.h"
#include "paceline/data/pack/packer.h"
#include "paceline/data/shuffled_dataset.h"

#include <charconv>
#include <map>
#include <optional>

namespace paceline::cli {
namespace {

const std::map<std::string, data::PackMode> kModes{{"files", data::PackMode::kFiles},
                                                   {"indexed", data::PackMode::kIndexed},
                                                   {"coefficients", data::PackMode::kCoefficients},
                                                   {"pixels", data::PackMode::kPixels}};

std::vector<std::string> mode_names() {
  std::vector<std::string> names;
  for (const auto& [name, mode] : kModes) names.push_back(name);
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

void report(const data::PackResult& result, const data::PackOptions& options) {
  for (const std::string& sample : result.left_out) base::log_warning("left out {}", sample);
  if (!result.left_out.empty())
    base::log_warning("{} damaged samples were left out",
                      base::format_count(std::ssize(result.left_out)));
  if (!result.is_complete()) {
    base::log_info("{}: {} shards written; {} are still to come from other parts",
                   options.folder.string(), result.written_shards, result.missing_shards);
    return;
  }
  base::log_info("{}: complete; {} shards written, {} were there", options.folder.string(),
                 result.written_shards, result.found_shards);
}

}  // namespace

int run_data_pack(const std::vector<std::string>& arguments) {
  DataSource source;
  data::PackOptions options;
  std::filesystem::path output;
  std::string split = "all";
  std::string part = "1/1";
  std::string mode = "files";
  std::optional<std::uint64_t> shuffle_seed;
  bool skips_check = false;
  CLI::App app(
      "Write a data set as a packed one: the same samples, labels and names in a few large, "
      "verified files, which `data: {name: packed, path: OUTPUT}` reads. An interrupted call goes "
      "on where it was. With data.subset=SIZE only that many training samples.",
      "data pack");
  source.add_options(app, /*has_split=*/false);
  app.add_option("-o,--output", output, "The folder to write; train/ and val/ in it")->required();
  app.add_option("--split", split, "Which part")
      ->check(CLI::IsMember({"all", "train", "val"}))
      ->capture_default_str();
  app.add_option(
         "--mode", mode,
         "files: the image files as they are; indexed: JPEG files with places where decoding can "
         "start, 3 % more bytes; coefficients: JPEG files without their entropy "
         "coding, the same pixels several times faster for 1.5 times the bytes; pixels: "
         "decoded, 5 times the bytes")
      ->check(CLI::IsMember(mode_names()))
      ->capture_default_str();
  app.add_option("--shuffle", shuffle_seed,
                 "Write training samples in an order drawn by this seed, for block_shuffle");
  app.add_option("--samples-per-shard", options.samples_per_shard,
                 "Samples in each file; 0: 64 files of at most 2,048 each")
      ->capture_default_str();
  app.add_option("--shard", part,
                 "I/N: several machines share the work; this one is number I of 1 to N")
      ->capture_default_str();
  app.add_option("--threads", options.num_threads, "Threads; 0: all cores")->capture_default_str();
  app.add_flag("--no-check", skips_check, "Do not decode files to find damaged ones");
  app.add_flag("--skip-damaged", options.skips_damaged,
               "Leave damaged samples out, and list them, instead of stopping");
  if (!parse_arguments(app, arguments)) return 0;
  take_part(part, options);
  options.mode = kModes.at(mode);
  options.checks_files = !skips_check;
  const auto registries = app::make_registries();
  base::RealFileSystem files;
  for (const char* each : {"train", "val"}) {
    if (split != "all" && split != each) continue;
    source.split = each;
    auto dataset = source.open(*registries);
    if (shuffle_seed && source.split == "train")
      dataset = data::shuffled(std::move(dataset), *shuffle_seed);
    options.folder = output / each;
    const data::PackResult result = [&] {
      WorkProgress progress(source.split + " samples");
      return data::pack(*dataset, options, files, [&](std::int64_t done, std::int64_t total) {
        progress.update(done, total);
      });
    }();
    report(result, options);
  }
  return 0;
}

}  // namespace paceline::cli
