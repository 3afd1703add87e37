#pragma once

#include "paceline/app/assembly/data_assembly.h"
#include "paceline/app/assembly/model_assembly.h"
#include "paceline/app/recipe/batch_arithmetic.h"
#include "paceline/app/recipe/recipe.h"
#include "paceline/app/run_directory/run_directory.h"
#include "paceline/checkpoint/listing.h"
#include "paceline/checkpoint/reader.h"
#include "paceline/comm/communicator.h"
#include "paceline/config/node.h"
#include "paceline/optim/schedule.h"
#include "paceline/train/algorithm.h"
#include "paceline/train/train_state.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace paceline::base {
class Interruption;
}  // namespace paceline::base

namespace paceline::metrics {
class MetricSink;
struct LocalRank;
}  // namespace paceline::metrics

namespace paceline::train {
class CheckpointSaver;
class Engine;
class Evaluator;
class Trainer;
struct RunContext;
}  // namespace paceline::train

namespace paceline::app {

struct MemoryEstimate;
struct MemoryQuestion;
struct Registries;  // app/recipe/builtin.h

/// What the process brings to a run: made by the command line, outlives the session.
struct SessionContext {
  const Registries& registries;
  comm::Communicator& communicator;
  base::FileSystem& files;
  const base::Interruption& interruption;         ///< what may wait looks at it
  int num_threads = 1;                            ///< of this rank
  int ranks_per_node = 1;                         ///< on this rank's node
  int cores_per_node = 1;                         ///< that the ranks of this node share
  tensor::Device& device = tensor::cpu_device();  ///< of this rank
  std::function<void(std::int64_t step)> first_step_done = [](std::int64_t) {};
};

/// What a program puts in place of what the recipe says, or beside it.
struct SessionChanges {
  /// How long is trained. The schedule, and whatever counts shares of the run, go by the recipe's.
  std::optional<config::DurationList> duration = {};
  std::unique_ptr<optim::Schedule> schedule = nullptr;           ///< null: the recipe's
  std::vector<std::unique_ptr<train::Callback>> callbacks = {};  ///< besides the recipe's
  data::HostAllocator batch_memory = {};  ///< of batches in host memory; empty: as tensors'

  /// A run that is cut short after so many steps.
  static SessionChanges at_most(std::int64_t steps, const Recipe& recipe);
};

/// All objects of one training run, built from a recipe and wired together.
class Session {
 public:
  /// Opens the data, builds model, strategy, optimizer and schedule. Every rank must call it.
  /// `train_set` is null unless it is open already.
  Session(const Recipe& recipe, const SessionContext& context, SessionChanges changes = {},
          std::unique_ptr<data::Dataset> train_set = nullptr);
  ~Session();

  /// Continues from a checkpoint; changes nothing on disk. Every rank must call it. Throws
  /// CheckpointError, also for other data than the checkpoint's.
  void resume(checkpoint::CheckpointReader& reader);

  /// From here on the run has a directory: loggers and checkpoints go there, and what an earlier
  /// start of the run left there beyond the step at hand gives way. `resumed` is the checkpoint
  /// that resume() was given, if it was. The directory must outlive the session. Every rank must
  /// call it.
  void attach(const RunDirectory& directory, const config::Node& resolved,
              const std::optional<std::filesystem::path>& resumed);

  /// What trains it to its end; after attach(), unless the run has no directory.
  train::Trainer& trainer();

  /// The recipe with what its first weights brought.
  const Recipe& recipe() const { return recipe_; }
  const BatchArithmetic& batches() const { return batches_; }
  const train::TrainState& state() const { return state_; }
  /// What the run is given besides its recipe, for people: the same on all ranks and after a
  /// resume.
  std::map<std::string, std::string> inputs() const;
  const data::Dataset& train_set() const { return *train_part_.dataset; }
  /// nullptr if the run evaluates nothing.
  const data::Dataset* val_set() const { return val_part_ ? val_part_->dataset.get() : nullptr; }
  /// Of a training sample.
  const std::vector<data::FieldSpec>& fields() const { return train_part_.maker->fields(); }
  const std::vector<std::string>& notes() const { return notes_; }
  MemoryQuestion memory_question() const;
  /// What its last bits depend on besides recipe and data.
  checkpoint::Environment environment() const;
  /// Without activations.
  MemoryEstimate memory() const;
  const BaseLr& base_lr() const { return base_lr_; }
  /// The best of the run's checkpoints on disk by checkpoint.monitor, if any was saved right after
  /// an evaluation. For rank 0.
  std::optional<checkpoint::Listed> best_checkpoint() const;
  /// Of each logger that measured something itself; ends that. For the end of the run.
  std::map<std::string, std::map<std::string, double>> summaries() const;

 private:
  void refuse_non_finite_weights() const;
  /// `last_batch` is that of check_views().
  void build_engine(std::int64_t last_batch,
                    std::vector<std::unique_ptr<train::Callback>> more_callbacks);
  /// What rank 0 does in attach().
  void take_over(const RunDirectory& directory, const config::Node& resolved,
                 const std::optional<std::filesystem::path>& resumed,
                 std::vector<metrics::LocalRank> local_ranks);
  /// The monitored value of the best checkpoint in the folder. Every rank must call it.
  std::optional<double> best_value(const std::filesystem::path& folder) const;
  /// Makes `resumed` the newest checkpoint of the run.
  void branch_off(const std::filesystem::path& resumed, const std::filesystem::path& folder);
  void make_sinks(const std::filesystem::path& run_directory,
                  std::vector<metrics::LocalRank> local_ranks);
  std::vector<std::pair<std::string, std::string>> hparams(const config::Node& resolved) const;

  Recipe recipe_;
  SessionContext context_;
  std::vector<std::string> notes_;
  DataPart train_part_;
  std::optional<DataPart> val_part_;  ///< nothing if the run evaluates nothing
  BatchArithmetic batches_;
  BatchNormGroup batch_norm_group_;
  std::unique_ptr<optim::OptimizerPlan> optimizer_plan_;
  BaseLr base_lr_;
  std::unique_ptr<optim::Schedule> schedule_;
  train::TrainState state_;
  std::unique_ptr<train::Engine> engine_;
  checkpoint::SurgeryRecord surgery_;  ///< what its algorithms did to the network
  std::unique_ptr<train::Evaluator> evaluator_;
  std::vector<std::unique_ptr<metrics::MetricSink>> sinks_;
  std::vector<metrics::MetricSink*> sink_pointers_;
  std::unique_ptr<train::CheckpointSaver> saver_;  ///< its last save still flushes the sinks
  std::filesystem::path run_directory_;
  std::optional<std::filesystem::path> checkpoint_folder_;  ///< on rank 0, if it is the run's own
  std::unique_ptr<const train::RunContext> run_;
  std::unique_ptr<train::Trainer> trainer_;
};

}  // namespace paceline::app
