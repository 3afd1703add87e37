#pragma once

#include "paceline/app/recipe/guide_json/guide_section.h"
#include "paceline/config/node.h"

#include <cstdint>
#include <string>
#include <vector>

namespace paceline::app {

/// A recipe that is being made of a guide's document.
struct GuideDraft {
  config::Node recipe = config::Node::map();
  std::vector<std::string> notes = {};          ///< what is otherwise than the document says
  std::vector<std::string> stages = {};         ///< their names, in order
  std::vector<std::int64_t> volume_sizes = {};  ///< of the stages
};

// Each takes the keys that it knows, in this order: stages first.

/// `model.stages` and the phases, one a stage.
void draft_stages(GuideSection& document, GuideDraft& draft);
/// X-rays: `model` and `data`.
void draft_xrays(GuideSection& document, GuideSection& data, GuideDraft& draft);
/// Where patients lie, how they are changed and by how many threads they are read.
void draft_data(GuideSection& data, GuideSection& training, GuideDraft& draft);
/// `train`, `optimizer`, `schedule`, `algorithms` and the batch.
void draft_training(GuideSection& document, GuideSection& training, GuideDraft& draft);
/// `checkpoint`, `loggers` and the run's name.
void draft_records(GuideSection& document, GuideDraft& draft);

/// What a run, or a phase of it with `prefix` "phases.stage1.", may say of its steps: batch,
/// precision, accumulation, activation checkpointing, learning rate, epochs.
void draft_step(GuideSection& section, const std::string& prefix, config::Node& recipe);

}  // namespace paceline::app
