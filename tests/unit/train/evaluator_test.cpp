#include "paceline/train/evaluator.h"

#include "paceline/base/error.h"
#include "paceline/base/log.h"
#include "support/run_ranks.h"
#include "unit/train/scripted_run.h"

#include <csignal>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace paceline::train {
namespace {

using paceline::test::Calls;
using paceline::test::OwnedLoader;
using paceline::test::RecordingStrategy;
using paceline::test::run_ranks;
using paceline::test::ScriptedTask;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

/// Evaluates 7 samples in batches of 4 with a loss of index + 1.
struct Evaluation {
  explicit Evaluation(comm::Communicator& communicator, std::set<std::int64_t> damaged = {},
                      std::int64_t num_samples = 7)
      : loader(num_samples, 4, false, communicator, std::move(damaged)),
        run{communicator, {}, 1, {}, signal} {
    task.eval_loss = [](const Batch& batch) {
      double sum = 0;
      for (const std::int64_t index : batch.indices) sum += static_cast<double>(index + 1);
      return sum;
    };
  }
  std::optional<EvalResult> evaluate(std::optional<std::int64_t> max_batches = std::nullopt) {
    return Evaluator(*loader, "val", max_batches, max_skipped)
        .run(task, strategy, Precision::kFloat32, /*step=*/0, run);
  }

  std::int64_t max_skipped = SkipLimit::kNone;
  std::atomic<int> signal{0};
  ScriptedTask task;
  Calls calls;
  RecordingStrategy strategy{calls};
  OwnedLoader loader;
  RunContext run;
};

TEST(Evaluator, CountsEachSampleOnceOnAnyNumberOfRanks) {
  for (const int ranks : {1, 2, 3, 5}) {  // with 5 some ranks have nothing at all
    run_ranks(ranks, [](comm::Communicator& communicator) {
      Evaluation evaluation(communicator);
      for (int again = 0; again < 2; ++again) {
        const auto result = evaluation.evaluate();
        EXPECT_EQ(result->samples, 7);
        EXPECT_EQ(result->values,
                  (std::map<std::string, double>{{"val/loss", 4.0}, {"val/seen", 1.0}}));
      }
    });
  }
}

TEST(Evaluator, ShowsTheFirstBatchOnRank0) {
  run_ranks(2, [](comm::Communicator& communicator) {
    Evaluation evaluation(communicator);
    EXPECT_TRUE(evaluation.evaluate()->pictures.empty()) << "nobody asked";
    Evaluator evaluator(*evaluation.loader, "val");
    evaluator.show_pictures();
    const auto result = evaluator.run(evaluation.task, evaluation.strategy, Precision::kFloat32,
                                      /*step=*/0, evaluation.run, "ema");
    if (communicator.rank() != 0) {
      EXPECT_TRUE(result->pictures.empty());
      return;
    }
    ASSERT_EQ(result->pictures.size(), 1u);
    EXPECT_EQ(result->pictures[0].name, "val_ema/sample 0");
  });
}

/// Measures how many samples it sees, and something that is undefined.
class Counting final : public EvalMeasure {
 public:
  explicit Counting(bool classes) : classes_(classes) {}
  void add(const tensor::Fields& outputs, const Batch& batch) override {
    EXPECT_TRUE(outputs.contains("zeros")) << "what the forward pass gave out";
    EXPECT_GT(batch.size, 0);
    size_ += static_cast<double>(batch.size);
  }
  Measured finish(comm::Communicator& communicator) override {
    const at::Tensor sum = at::full({1}, size_, at::kDouble);
    communicator.all_reduce(sum, comm::ReduceOp::kSum)->wait();
    Measured measured{{{"size", sum.item<double>()}, {"undefined", kNan}}, std::nullopt};
    if (classes_) measured.table.emplace();
    return measured;
  }

 private:
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  bool classes_;
  double size_ = 0;
};

TEST(Evaluator, MeasuresWhatTheTaskHasBesides) {
  run_ranks(5, [](comm::Communicator& communicator) {
    Evaluation evaluation(communicator);
    evaluation.task.measure = [](bool classes) { return std::make_unique<Counting>(classes); };
    const auto result = evaluation.evaluate();
    EXPECT_EQ(result->values.at("val/size"), 7);
    EXPECT_FALSE(result->values.contains("val/undefined"));
    EXPECT_FALSE(result->table.has_value());
    Evaluator evaluator(*evaluation.loader, "val");
    evaluator.tell_classes();
    const auto with_table = evaluator.run(evaluation.task, evaluation.strategy, Precision::kFloat32,
                                          0, evaluation.run, "ema");
    EXPECT_EQ(with_table->values.at("val_ema/size"), 7);
    EXPECT_TRUE(with_table->table.has_value());
  });
}

TEST(Evaluator, ShowsTheBatchesToAnotherMeasure) {
  run_ranks(3, [](comm::Communicator& communicator) {
    Evaluation evaluation(communicator);
    Counting own(/*classes=*/false);
    Evaluator evaluator(*evaluation.loader, "val");
    evaluator.show_to(own);
    const auto result =
        evaluator.run(evaluation.task, evaluation.strategy, Precision::kFloat32, 0, evaluation.run);
    EXPECT_FALSE(result->values.contains("val/size")) << "it is no part of the result";
    EXPECT_EQ(own.finish(communicator).values.at("size"), 7);
  });
}

TEST(Evaluator, TellsHowManySamplesItLeftOutOnAllRanks) {
  std::mutex mutex;
  std::vector<std::string> warnings;
  const base::LogRedirection redirection([&](base::LogLevel, std::string_view text) {
    const std::lock_guard lock(mutex);
    warnings.emplace_back(text);
  });
  run_ranks(2, [](comm::Communicator& communicator) {
    Evaluation evaluation(communicator, {0, 3, 6});
    const auto result = evaluation.evaluate();
    EXPECT_EQ(result->samples, 4);
    EXPECT_EQ(result->skipped, 3);
    EXPECT_EQ(result->values.at("val/seen"), 1.0);
  });
  EXPECT_THAT(warnings, ElementsAre(AllOf(HasSubstr("left out 3 of 7 samples"), HasSubstr("0.jpg"),
                                          HasSubstr("6.jpg"))));
}

TEST(Evaluator, MoreSkippedSamplesThanAllowedAreAnErrorOnEveryRank) {
  run_ranks(3, [](comm::Communicator& communicator) {
    Evaluation evaluation(communicator, {2, 3});
    evaluation.max_skipped = 2;
    EXPECT_EQ(evaluation.evaluate()->skipped, 2);
    evaluation.max_skipped = 1;
    EXPECT_THAT([&] { evaluation.evaluate(); },
                ThrowsMessage<base::DataError>(AllOf(HasSubstr("2 samples of the evaluation"),
                                                     HasSubstr("2.jpg"), HasSubstr("3.jpg"),
                                                     HasSubstr("data.max_skipped allows 1"))));
  });
}

TEST(Evaluator, WithoutASampleThereIsNoResult) {
  run_ranks(2, [](comm::Communicator& communicator) {
    Evaluation damaged(communicator, {0, 1, 2, 3, 4, 5, 6});
    EXPECT_THAT([&] { damaged.evaluate(); },
                ThrowsMessage<base::DataError>(
                    AllOf(HasSubstr("no sample"), HasSubstr("all 7"), HasSubstr("6.jpg"))));
    Evaluation whole(communicator);
    EXPECT_THAT([&] { whole.evaluate(0); },
                ThrowsMessage<base::DataError>(HasSubstr("train.eval_batches")));
  });
}

TEST(Evaluator, StopsAfterTheBatchesThatAreWanted) {
  run_ranks(2, [](comm::Communicator& communicator) {
    Evaluation evaluation(communicator);
    EXPECT_EQ(evaluation.evaluate(1)->samples, 4);
    EXPECT_EQ(evaluation.evaluate(9)->samples, 7);
  });
}

TEST(Evaluator, EveryRankGivesUpWhenOneIsInterrupted) {
  run_ranks(3, [](comm::Communicator& communicator) {
    Evaluation evaluation(communicator);
    if (communicator.rank() == 2) evaluation.signal = SIGTERM;
    EXPECT_FALSE(evaluation.evaluate().has_value());
  });
}

TEST(Evaluator, EveryRankGivesUpWhenOneIsStoppedBeforeItHasItsBatch) {
  for (const std::int64_t position : {0, 1}) {  // the last one, too
    run_ranks(3, [&](comm::Communicator& communicator) {
      Evaluation evaluation(communicator);
      if (communicator.rank() == 1) evaluation.loader.stop_at(position, evaluation.signal);
      EXPECT_FALSE(evaluation.evaluate().has_value());
    });
  }
}

TEST(Evaluator, EndsOnceTooMuchWasSkippedOverAllRanks) {
  run_ranks(2, [](comm::Communicator& communicator) {
    Evaluation evaluation(communicator, {0, 3, 4, 5, 6});  // of the first batch one on each rank
    evaluation.max_skipped = 1;
    EXPECT_THAT([&] { evaluation.evaluate(); },
                ThrowsMessage<base::DataError>(HasSubstr("2 samples of the evaluation")));
  });
}

TEST(Evaluator, RanksLookAtEachOtherNowAndThen) {
  constexpr std::int64_t kBatches = 40;
  run_ranks(2, [](comm::Communicator& communicator) {
    for (const std::int64_t stop : {std::int64_t{0}, std::int64_t{13}, kBatches - 1}) {
      Evaluation evaluation(communicator, {}, kBatches * 4);
      std::int64_t num_batches = 0;
      evaluation.task.eval_loss = [&](const Batch&) { return static_cast<double>(++num_batches); };
      if (communicator.rank() == 1) evaluation.loader.stop_at(stop, evaluation.signal);
      EXPECT_FALSE(evaluation.evaluate().has_value());
      EXPECT_LE(num_batches, stop + 9);
    }
  });
}

TEST(Evaluator, AResultThatIsNotFiniteIsAnErrorOfAllRanks) {
  run_ranks(3, [](comm::Communicator& communicator) {
    Evaluation evaluation(communicator);
    evaluation.task.eval_loss = [&](const Batch&) {
      return communicator.rank() == 1 ? std::numeric_limits<double>::infinity() : 1.0;
    };
    EXPECT_THAT([&] { evaluation.evaluate(); },
                testing::ThrowsMessage<base::DivergedError>(testing::AllOf(
                    testing::HasSubstr("val/loss is inf"), testing::HasSubstr("7 samples"))));
  });
}

TEST(Evaluator, LeavesTheModelInTrainingMode) {
  run_ranks(1, [](comm::Communicator& communicator) {
    Evaluation evaluation(communicator);
    evaluation.evaluate();
    EXPECT_TRUE(evaluation.task.is_training);
    evaluation.task.eval_loss = [](const Batch&) -> double { throw base::DataError("damaged"); };
    EXPECT_THROW(evaluation.evaluate(), base::DataError);
    EXPECT_TRUE(evaluation.task.is_training) << "also after an error";
  });
}

}  // namespace
}  // namespace paceline::train
