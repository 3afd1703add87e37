#include "paceline/pretrained/download.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "paceline/base/text.h"
#include "paceline/data/storage/storage.h"
#include "paceline/pretrained/transfer_progress.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace paceline::pretrained {
namespace {

namespace fs = std::filesystem;

constexpr double kFirstPauseS = 0.5;
constexpr double kLongestPauseS = 20;
constexpr double kLongestWantedS = 600;  ///< that a server may ask us to wait

/// Where the first byte of "bytes 7-9/1234" lies, and behind the slash the size of the whole.
struct ContentRange {
  std::optional<std::uint64_t> first, size;
};

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [behind, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && behind != text.data() ? std::optional(number) : std::nullopt;
}

ContentRange content_range(const data::HttpResponse& response) {
  const std::string text = response.header("content-range");
  ContentRange range;
  if (!text.starts_with("bytes ")) return range;
  range.first = number_in(std::string_view(text).substr(6));
  if (const std::size_t slash = text.find('/'); slash != std::string::npos)
    range.size = number_in(std::string_view(text).substr(slash + 1));
  return range;
}

/// Counts tries that brought nothing.
class Patience {
 public:
  Patience(std::string name, const DownloadOptions& options)
      : name_(std::move(name)), options_(options) {}

  void reset() { num_tries_ = 0; }

  /// After a failed try; throws after the last one.
  void wait(const data::TransientError& error) {
    ++num_tries_;
    if (num_tries_ > options_.retries)
      throw base::DataError(fmt::format(
          "{}: given up after {} {}; the last one: {}; see whether the other side works and is in "
          "reach, or raise data.remote.retries ({}) or data.remote.timeout; what has come so far "
          "is "
          "kept and gone on with",
          name_, num_tries_, num_tries_ == 1 ? "try" : "tries", error.what(), options_.retries));
    if (error.wait_s > kLongestWantedS)
      throw base::DataError(
          fmt::format("{}: the other side is busy and asks us to come back in {}: "
                      "{}",
                      name_, base::format_duration(error.wait_s), error.what()));
    const double pause = std::max(
        error.wait_s,
        std::min(kFirstPauseS * std::ldexp(1.0, std::min(num_tries_ - 1, 30)), kLongestPauseS));
    if (num_tries_ == 1 || error.wait_s > 0)
      base::log_warning("{}; trying again in {:.2g} s", error.what(), pause);
    rest(pause);
  }

 private:
  void rest(double seconds) const {
    if (options_.sleep) return options_.sleep(seconds);
    const std::chrono::duration<double> time(seconds);
    options_.interruption.sleep_for(
        std::chrono::duration_cast<base::Interruption::Clock::duration>(time));
    options_.interruption.check(fmt::format("waiting to ask for {} again", name_));
  }

  std::string name_;
  const DownloadOptions& options_;
  int num_tries_ = 0;
};

void require_space(const DownloadPlan& plan, std::uint64_t present) {
  if (!plan.size || *plan.size <= present) return;
  std::error_code unknown;
  const fs::space_info space = fs::space(plan.partial.parent_path(), unknown);
  const std::uint64_t missing = *plan.size - present;
  if (unknown || space.available >= missing) return;
  throw base::DataError(fmt::format(
      "{}: {} are still to come, and the disk of {} has room for {}: free some space, or set {} to "
      "a folder on another disk",
      plan.name, base::format_bytes(missing), plan.target.parent_path().string(),
      base::format_bytes(space.available), plan.place_setting));
}

void fill(const DownloadPlan& plan, PartialFile& partial, const FetchRest& fetch,
          const DownloadOptions& options) {
  Patience patience(plan.name, options);
  for (;;) {
    options.interruption.check("downloading " + plan.name);
    const std::uint64_t before = partial.size();
    try {
      if (!plan.size || partial.size() < *plan.size) fetch(partial);
      if (!plan.size || partial.size() >= *plan.size) return;
      throw data::TransientError(
          fmt::format("{}: ended at byte {} of {}", plan.name, partial.size(), *plan.size));
    } catch (const data::TransientError& error) {
      if (partial.size() > before) patience.reset();
      patience.wait(error);
    }
  }
}

/// What is wrong with what came; empty: nothing.
std::string problem_of(const DownloadPlan& plan, const PartialFile& partial) {
  if (plan.size && partial.size() != *plan.size)
    return fmt::format("{} bytes came of {}", partial.size(), *plan.size);
  const std::string sum = plan.sha256.empty() ? "" : partial.sha256();
  if (sum.starts_with(plan.sha256)) return {};
  return fmt::format("its SHA-256 is {}, and should {} {}", sum,
                     plan.sha256.size() < sum.size() ? "begin with" : "be", plan.sha256);
}

}  // namespace

void download(const DownloadPlan& plan, const FetchRest& fetch, const DownloadOptions& options) {
  PartialFile partial(options.files, plan.partial);
  const bool is_resumed = partial.size() > 0;
  require_space(plan, partial.size());
  base::log_info("downloading {}{}{} to {}", plan.name,
                 plan.size ? fmt::format(" ({})", base::format_bytes(*plan.size)) : "",
                 is_resumed ? fmt::format(", from {} on", base::format_bytes(partial.size())) : "",
                 plan.target.string());
  TransferProgress progress(plan.name, plan.size);
  progress.update(partial.size());
  partial.watch([&](std::uint64_t size) { progress.update(size); });
  fill(plan, partial, fetch, options);
  std::string problem = problem_of(plan, partial);
  if (!problem.empty() && is_resumed) {
    base::log_warning(
        "{}: {}; what an earlier try had left was not of this file: once more from "
        "the start",
        plan.name, problem);
    partial.restart();
    fill(plan, partial, fetch, options);
    problem = problem_of(plan, partial);
  }
  if (!problem.empty()) {
    partial.discard();
    throw base::DataError(fmt::format(
        "{}: what came is damaged: {}. It was thrown away; try again, and if it stays so, the file "
        "is damaged where it comes from, or something on the way (a proxy) changes it",
        plan.name, problem));
  }
  partial.become(plan.target);
}

FetchRest fetch_by_http(const data::HttpExchange& exchange, HttpOrigin origin,
                        const base::Interruption& interruption) {
  return [&exchange, &interruption, origin = std::move(origin)](PartialFile& partial) {
    const std::uint64_t offset = partial.size();
    data::HttpRequest request{.url = origin.url, .bearer = origin.bearer};
    if (offset > 0) request.range = fmt::format("{}-", offset);
    if (offset > 0) request.if_range = origin.etag;
    bool has_begun = false;
    const data::HttpResponse response =
        exchange.get(request, [&](const data::HttpResponse& head, std::string_view bytes) {
          if (!std::exchange(has_begun, true)) {
            if (head.status != 206 && offset > 0) partial.restart();
            if (head.status == 206 && content_range(head).first != offset)
              throw data::TransientError(
                  fmt::format("{}: the server sent '{}' instead of bytes from {} on", origin.name,
                              head.header("content-range"), offset));
          }
          partial.append(bytes);
          interruption.check("downloading " + origin.name);
          return true;
        });
    if (response.status == 416) {  // nothing lies behind what is there
      if (content_range(response).size == offset) return;
      partial.restart();
      throw data::TransientError(
          fmt::format("{}: the file is shorter than what an earlier try has left", origin.name));
    }
    origin.check ? origin.check(response) : data::throw_unless_ok(response, origin.name);
  };
}

void retry(const std::string& name, const DownloadOptions& options,
           const std::function<void()>& action) {
  Patience patience(name, options);
  for (;;) {
    try {
      return action();
    } catch (const data::TransientError& error) {
      patience.wait(error);
    }
  }
}

}  // namespace paceline::pretrained
