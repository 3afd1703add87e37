#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/recipe/builtin.h"
#include "paceline/base/clock.h"
#include "paceline/base/error.h"
#include "paceline/base/parallel_for.h"
#include "paceline/base/progress_line.h"
#include "paceline/base/text.h"
#include "paceline/cli/command_line.h"
#include "paceline/cli/data/data_commands.h"
#include "paceline/cli/data/data_source.h"
#include "paceline/data/loader/loader_rate.h"
#include "paceline/data/loader/loader_stage.h"

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>

namespace paceline::cli {
namespace {

/// Images a second that one GPU trains of ResNet-50 at 224 pixels in mixed precision, as NVIDIA's
/// DeepLearningExamples and AWS's guides to the T4 give them.
const std::map<std::string, double> kGpuRates{{"t4", 500}, {"v100", 1200}, {"a100", 2470}};

constexpr double kMostNeeded = 1e9;  // images a second, or GPUs
constexpr std::int64_t kMostSamples = 1'000'000'000;

/// "a100", "4xa100" or a number of samples a second.
double needed_rate(const std::string& text) {
  const std::string lower = base::to_lower(text);
  const std::size_t times = lower.find('x');
  const std::string name = times == std::string::npos ? lower : lower.substr(times + 1);
  const std::string number = times == std::string::npos ? lower : lower.substr(0, times);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool is_number = error == std::errc() && end == number.data() + number.size() &&
                         value > 0 && value <= kMostNeeded;
  const auto gpu = kGpuRates.find(name);
  if (gpu != kGpuRates.end() && times == std::string::npos) return gpu->second;
  if (gpu != kGpuRates.end() && is_number) return value * gpu->second;
  if (is_number && times == std::string::npos) return value;
  throw base::ConfigError(
      fmt::format("--feeds wants t4, v100, a100, several as in 4xa100, or a number of samples a "
                  "second, at most {}, but it is \"{}\"",
                  kMostNeeded, text));
}

double share(double seconds, const data::StageTimes& stages) {
  return 100 * seconds / stages.total_s();
}

void print_stage(std::string_view name, double seconds, const data::StageTimes& stages) {
  fmt::print("  {:<12}{:>10.0f}{:>10.1f}\n", name,
             1e6 * seconds / static_cast<double>(stages.samples), share(seconds, stages));
}

/// `samples` is what they are called, as "images".
void print_text(const data::LoaderRate& one, const data::LoaderRate& all,
                std::string_view samples) {
  fmt::print("one thread     us/{}   share %\n", samples.substr(0, samples.size() - 1));
  print_stage("reading", one.stages.read_s, one.stages);
  print_stage("decoding", one.stages.decode_s, one.stages);
  print_stage("transforms", one.stages.transform_s, one.stages);
  fmt::print("  {:.0f} {}/s\n", one.samples_per_s, samples);
  fmt::print("{} thread{}: {:.0f} {}/s, {:.2f} times one\n", all.num_threads,
             all.num_threads == 1 ? "" : "s", all.samples_per_s, samples,
             all.samples_per_s / one.samples_per_s);
  const data::LoaderStage limit = data::limiting_stage(one.stages);
  fmt::print("{} take{} the most time; what helps: {}\n", data::name_of(limit),
             limit == data::LoaderStage::kTransform ? "" : "s", data::cure_of(limit));
}

/// `samples` as in print_text().
void print_feeding(double needed, const data::LoaderRate& one, const data::LoaderRate& all,
                   std::string_view samples) {
  if (all.samples_per_s >= needed) {
    fmt::print("feeds {:.0f} {}/s: yes\n", needed, samples);
    return;
  }
  fmt::print("feeds {:.0f} {}/s: no; it takes about {:.0f} threads of such cores\n", needed,
             samples, std::ceil(needed / one.samples_per_s));
}

void print_json(const data::LoaderRate& one, const data::LoaderRate& all,
                std::optional<double> needed) {
  const auto per_sample = [&](double seconds) {
    return 1e6 * seconds / static_cast<double>(one.stages.samples);
  };
  nlohmann::ordered_json json{{"one_thread",
                               {{"samples_per_s", one.samples_per_s},
                                {"read_us", per_sample(one.stages.read_s)},
                                {"decode_us", per_sample(one.stages.decode_s)},
                                {"transform_us", per_sample(one.stages.transform_s)}}},
                              {"threads", all.num_threads},
                              {"samples_per_s", all.samples_per_s},
                              {"limit", data::name_of(data::limiting_stage(one.stages))}};
  if (needed)
    json["feeds"] = {{"samples_per_s", *needed}, {"enough", all.samples_per_s >= *needed}};
  fmt::print("{}\n", json.dump(2));
}

}  // namespace

int run_data_bench(const std::vector<std::string>& arguments, const app::Registries& registries) {
  DataSource source;
  std::int64_t num_samples = 2000;
  int num_threads = 0;
  std::string feeds;
  bool as_json = false;
  CLI::App app(
      "Measure how fast training samples are read, decoded and transformed, and what limits it. "
      "What "
      "lies in memory is read from there, as in the second epoch of a set that fits.",
      "data bench");
  source.add_options(app, /*has_split=*/false);
  app.add_option("--samples", num_samples, "Samples of each measurement")
      ->check(CLI::Range(std::int64_t{1}, kMostSamples))
      ->capture_default_str();
  add_threads(app, num_threads, "Threads of the second measurement; 0: all cores");
  app.add_option("--feeds", feeds,
                 "Say whether this is enough for t4, v100, a100 (ResNet-50), several as in 4xa100, "
                 "or a number of samples a second");
  app.add_flag("--json", as_json, "Print one JSON object");
  if (!parse_arguments(app, arguments, registries)) return 0;
  const std::optional<double> needed =
      feeds.empty() ? std::nullopt : std::optional(needed_rate(feeds));
  if (num_threads == 0)
    num_threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const app::Recipe recipe = source.recipe(registries);
  const app::DataPart part =
      app::open_data(recipe, registries, data::Split::kTrain, /*interruption=*/nullptr);
  app::warn_of_content(*part.dataset);
  if (part.dataset->size() == 0) throw base::DataError(source.source + ": there is no sample");
  // Another order each time, so that a large set's samples are not those that lie in memory.
  const auto seed = static_cast<std::uint64_t>(base::SystemClock().wall_s());
  const auto measure = [&](int threads, std::uint64_t its_seed) {
    data::LoaderOptions options{.seed = its_seed};
    options.sampler = registries.samplers.build(recipe.data.sampler, *part.dataset, its_seed);
    options.num_threads = threads;
    options.on_error = recipe.data.on_error;
    auto maker = part.maker;
    if (needed && part.pipeline)  // as GPUs get them
      maker = std::make_shared<data::ImageMaker>(part.pipeline, data::ImageForm{.as_bytes = true});
    return data::measure_loader(*part.dataset, std::move(maker), options, num_samples);
  };
  data::LoaderRate one;
  data::LoaderRate all;
  {
    const base::ProgressLine line;
    line.say("one thread");
    one = measure(1, seed);
    line.say(fmt::format("{} threads", num_threads));
    all = measure(num_threads, seed + 1);
  }
  if (as_json) {
    print_json(one, all, needed);
    return 0;
  }
  const std::string_view samples = app::word_for_samples(part.maker->fields());
  print_text(one, all, samples);
  if (needed) print_feeding(*needed, one, all, samples);
  return 0;
}

}  // namespace paceline::cli
