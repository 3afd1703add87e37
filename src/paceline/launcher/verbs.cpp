#include "paceline/launcher/verbs.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"
#include "paceline/launcher/bench.h"
#include "paceline/launcher/run_control.h"
#include "paceline/launcher/start.h"
#include "paceline/launcher/sweep_command.h"

#include <algorithm>
#include <array>

namespace paceline::launcher {
namespace {

/// A verb is added here when paceline-rank serves it.
constexpr std::array kVerbs{
    Verb{"train", "RECIPE [key=value ...] [launch options]",
         "train a recipe on the ranks of this machine, or of several", run_ranks_of_verb},
    Verb{"launch", "[launch options] -- PROGRAM [ARGS ...]",
         "run any program on several ranks, with torchrun's environment variables", run_launch},
    Verb{"logs", "[-f] [-n LINES] RUN",
         "show the output of a detached run, or its last lines; -f follows it", run_logs},
    Verb{"stop", "[--timeout SECONDS] RUN", "end a detached run; it saves a checkpoint first",
         run_stop},
    Verb{"lr-find",
         "RECIPE [key=value ...] [--like fastai|lightning] [--rule RULE] [launch options]",
         "find a learning rate by a short training with rising rates", run_ranks_of_verb},
    Verb{"sweep",
         "RECIPE key=a,b key='log(1e-4,1e-1)' [key=value ...] [--strategy grid|random|halving]",
         "train a recipe once for each choice of values, or without each of its parts",
         run_sweep_command},
    Verb{"batch-find",
         "RECIPE [key=value ...] [--memory-limit SIZE] [--apply] [--json] [launch options]",
         "find the largest batch that fits into memory", run_ranks_of_verb},
    Verb{"eval", "RUN[@best|@step-N]|CHECKPOINT|EXPORTED [key=value ...] [launch options]",
         "evaluate a checkpoint", run_ranks_of_verb},
    Verb{"predict",
         "RUN[@best|@step-N]|CHECKPOINT|EXPORTED [IMAGES ...] [key=value ...] [-o OUT] [launch "
         "options]",
         "tell the classes of images, or write what a checkpoint gives out for a data set",
         run_ranks_of_verb},
    Verb{"export", "RUN[@best|@step-N]|CHECKPOINT [options]",
         "write the weights of a checkpoint as safetensors", nullptr},
    Verb{"config", "show|check|explain|schema|template|reference ...",
         "show, check and explain recipes", nullptr},
    Verb{"list", "[KIND]", "show the components that a recipe can name", nullptr},
    Verb{"data", "synth|info|verify|bench|pack ...", "make, describe, check and pack data sets",
         nullptr},
    Verb{"bench",
         "scaling|step RECIPE [key=value ...] [--nproc 1,2,4] [--toggle KEY=VALUE] [--json]",
         "measure how training scales over ranks, or what a setting adds to a step", run_bench},
    Verb{"info", "[memory RECIPE [key=value ...] [--nproc N] [--json]]",
         "show versions and what this machine offers, or what memory a recipe needs", nullptr},
};

/// A verb of another program, and what to write here.
struct ForeignVerb {
  std::string_view name;
  std::string_view advice;
};

constexpr std::array kForeignVerbs{
    ForeignVerb{"fit", "write: paceline train RECIPE"},
    ForeignVerb{"run", "write: paceline train RECIPE, or launch -- PROGRAM for another program"},
    ForeignVerb{"resume", "write: paceline train RECIPE --run-dir RUN --resume auto"},
    ForeignVerb{"validate", "write: paceline eval RUN"},
    ForeignVerb{"evaluate", "write: paceline eval RUN"},
    ForeignVerb{"test", "write: paceline eval RUN data.path=TEST_DATA"},
    ForeignVerb{"torchrun", "write: paceline launch --nproc N -- PROGRAM"},
    ForeignVerb{"accelerate", "write: paceline launch --nproc N -- PROGRAM"},
    ForeignVerb{"composer", "write: paceline train RECIPE --nproc N"},
    ForeignVerb{"version", "write: paceline info"}};

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

const Verb& require_verb(std::string_view name) {
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) {
    if (verb.name == name) return verb;
    names.emplace_back(verb.name);
  }
  for (const ForeignVerb& foreign : kForeignVerbs) {
    if (foreign.name == name)
      throw base::ConfigError(fmt::format("there is no verb '{}'; {}", name, foreign.advice));
  }
  const std::string nearest = base::nearest_name(name, names);
  throw base::ConfigError(fmt::format(
      "there is no verb '{}'; {}", name,
      nearest.empty() ? "paceline --help lists them" : fmt::format("did you mean {}?", nearest)));
}

std::string help_text() {
  std::string text =
      "paceline trains vision networks on many GPUs and machines.\n\nusage: paceline VERB ...\n\n";
  for (const Verb& verb : kVerbs)
    text += fmt::format("  {:<11}{}\n             {}\n", verb.name, verb.usage, verb.summary);
  return text + "\n`paceline VERB --help` tells more.\n";
}

bool asks_for_help(std::span<const std::string> arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--help") != end ||
         std::find(arguments.begin(), end, "-h") != end;
}

std::string usage_text(std::string_view name) {
  const Verb& verb = require_verb(name);
  return fmt::format("usage: paceline {} {}\n\n{}\n", name, verb.usage, verb.summary);
}

}  // namespace paceline::launcher
