#include "paceline/app/batch_find/rank_search.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/comm/agreement.h"

#include <exception>
#include <optional>

namespace paceline::app {
namespace {

/// A try of this rank, or what it failed with.
struct OwnTry {
  ProbeOutcome outcome = {};
  std::exception_ptr error = nullptr;
  std::string text = {};  ///< "EXIT-CODE TEXT" of the error
};

OwnTry make_try(const BatchProbe& probe, std::int64_t samples) {
  OwnTry own;
  try {
    own.outcome = probe(samples);
  } catch (const base::Error& error) {
    own.error = std::current_exception();
    own.text = fmt::format("{} {}", static_cast<int>(error.exit_code()), error.what());
  } catch (const std::exception& error) {
    own.error = std::current_exception();
    own.text = fmt::format("{} {}", static_cast<int>(base::ExitCode::kInternal), error.what());
  }
  return own;
}

/// Throws on every rank if any failed, on this one what it failed with itself.
void throw_if_any_failed(const OwnTry& own, comm::Communicator& communicator) {
  const std::vector<std::string> texts = comm::texts_if_any(communicator, own.text);
  if (own.error) std::rethrow_exception(own.error);
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    const std::size_t space = texts[rank].find(' ');
    throw base::Error(static_cast<base::ExitCode>(std::stoi(texts[rank].substr(0, space))),
                      fmt::format("rank {}: {}", rank, texts[rank].substr(space + 1)));
  }
}

/// Which ranks the try does not fit, and by how much; the same on all of them.
std::string refusal_of_ranks(const ProbeOutcome& own, double limit_bytes,
                             comm::Communicator& communicator) {
  const double excess = own.bytes > limit_bytes ? own.bytes - limit_bytes : 0;
  const std::string told =
      own.fits ? "" : base::format_bytes(static_cast<std::uint64_t>(excess)) + " too much";
  const std::vector<std::string> texts = comm::texts_if_any(communicator, told);
  std::vector<std::string> refusals;
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (!texts[rank].empty())
      refusals.push_back(fmt::format("rank {}: at least {}", rank, texts[rank]));
  }
  constexpr std::size_t kMostNamed = 3;
  return base::join_first(refusals, kMostNamed);
}

/// The least that any rank brings.
std::int64_t least_of_ranks(std::int64_t own, comm::Communicator& communicator) {
  return -comm::max_over_ranks(communicator, -own);
}

}  // namespace

BatchSearch search_batch(comm::Communicator& communicator, double limit_bytes,
                         std::int64_t most_samples, const BatchProbe& probe, const TryTold& told) {
  BatchSearch search(limit_bytes, most_samples);
  while (true) {
    const std::int64_t samples = least_of_ranks(search.next(), communicator);
    if (samples <= search.found()) return search;
    const auto predicted = search.predict(samples);
    const OwnTry own = make_try(probe, samples);
    throw_if_any_failed(own, communicator);
    const std::string refusal = refusal_of_ranks(own.outcome, limit_bytes, communicator);
    const BatchTry made{samples, refusal.empty(), own.outcome.bytes, predicted};
    search.add(made);
    told(made, refusal);
  }
}

}  // namespace paceline::app
