#include "paceline/config/foreign_names.h"

#include "paceline/base/error.h"
#include "paceline/base/text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace paceline::config {
namespace {

constexpr std::string_view kNoDevice =
    "a rank uses its GPU if there is one, else the CPU; CUDA_VISIBLE_DEVICES chooses";
constexpr std::string_view kNoRank = "the launcher gives every rank its number";
constexpr std::string_view kPerMachine = "ranks per machine";
constexpr std::string_view kWithoutPercent = "a share between 0 and 1, not percent";

constexpr ForeignName kNames[] = {
    // How long.
    {"epochs", "train.duration", "{}ep", ""},
    {"max_epochs", "train.duration", "{}ep", ""},
    {"num_epochs", "train.duration", "{}ep", ""},
    {"num_train_epochs", "train.duration", "{}ep", ""},
    {"n_epochs", "train.duration", "{}ep", ""},
    {"min_epochs", "train.min_duration", "{}ep", ""},
    {"max_steps", "train.duration", "{}ba", ""},
    {"num_steps", "train.duration", "{}ba", ""},
    {"train_steps", "train.duration", "{}ba", ""},
    {"max_iters", "train.duration", "{}ba", ""},
    {"iterations", "train.duration", "{}ba", ""},
    {"max_duration", "train.duration", "", ""},
    {"max_time", "train.duration", "2h30m",
     "wall-clock time; in a list the first to come ends the run"},
    {"fast_dev_run", "--fast-dev-run", "", ""},
    // Batch and data. A plain batch_size is answered apart.
    {"global_train_batch_size", "data.global_batch_size", "", ""},
    {"train_batch_size", "data.global_batch_size", "", "samples per step over all ranks"},
    {"total_batch_size", "data.global_batch_size", "", "samples per step over all ranks"},
    {"per_device_train_batch_size", "data.batch_size_per_rank", "", ""},
    {"train_micro_batch_size_per_gpu", "data.batch_size_per_rank", "",
     "per step, not per microbatch: multiply by train.grad_accum_steps"},
    {"num_workers", "data.num_threads", "", "threads per rank, there are no worker processes"},
    {"workers", "data.num_threads", "", "threads per rank, there are no worker processes"},
    {"dataloader_num_workers", "data.num_threads", "",
     "threads per rank, there are no worker processes"},
    {"j", "data.num_threads", "", "threads per rank, there are no worker processes"},
    {"prefetch_factor", "data.prefetch_batches", "", ""},
    {"data_dir", "data.path", "", ""},
    {"data_path", "data.path", "", ""},
    {"dataset_path", "data.path", "", ""},
    {"imagenet_path", "data.path", "", ""},
    {"data_subset", "data.subset", "", ""},
    {"dataset", "data.name", "", ""},
    {"datamodule", "data.name", "", ""},
    {"img_size", "data.image_size", "", ""},
    {"image_size", "data.image_size", "", ""},
    {"resolution", "data.image_size", "", ""},
    // Optimizer and schedule.
    {"lr", "optimizer.lr", "", ""},
    {"learning_rate", "optimizer.lr", "", ""},
    {"base_lr", "optimizer.lr", "", ""},
    {"max_lr", "optimizer.lr", "", ""},
    {"weight_decay", "optimizer.weight_decay", "", ""},
    {"wd", "optimizer.weight_decay", "", ""},
    {"momentum", "optimizer.momentum", "", ""},
    {"opt", "optimizer.name", "", ""},
    {"optim", "optimizer.name", "", ""},
    {"scheduler", "schedule.name", "", ""},
    {"lr_scheduler", "schedule.name", "", ""},
    {"lr_schedule", "schedule.name", "", ""},
    {"sched", "schedule.name", "", ""},
    {"warmup_epochs", "schedule.warmup", "{}ep", ""},
    {"warmup_steps", "schedule.warmup", "{}ba", ""},
    {"warmup_iters", "schedule.warmup", "{}ba", ""},
    // Step.
    {"no_amp", "train.precision", "fp32", ""},
    {"amp", "train.precision", "fp16", ""},
    {"use_amp", "train.precision", "fp16", ""},
    {"fp16", "train.precision", "fp16", ""},
    {"bf16", "train.precision", "bf16", ""},
    {"init_scale", "train.grad_scaler.init_scale", "", ""},
    {"mixed_precision", "train.precision", "", ""},
    {"precision", "train.precision", "", ""},
    {"accumulate_grad_batches", "train.grad_accum_steps", "", ""},
    {"gradient_accumulation", "train.grad_accum_steps", "", ""},
    {"gradient_accumulation_steps", "train.grad_accum_steps", "", ""},
    {"grad_accum", "train.grad_accum_steps", "", ""},
    {"accum_steps", "train.grad_accum_steps", "", ""},
    {"activation_checkpointing", "train.activation_checkpointing.every", "1", ""},
    {"gradient_checkpointing", "train.activation_checkpointing.every", "1", ""},
    {"grad_checkpointing", "train.activation_checkpointing.every", "1", ""},
    {"gradient_clip", "train.grad_clip_norm", "", ""},
    {"gradient_clip_val", "train.grad_clip_norm", "", ""},
    {"gradient_clipping", "train.grad_clip_norm", "", ""},
    {"grad_clip", "train.grad_clip_norm", "", ""},
    {"grad_clip_norm", "train.grad_clip_norm", "", ""},
    {"clip_grad", "train.grad_clip_norm", "", ""},
    {"clip_grad_norm", "train.grad_clip_norm", "", ""},
    {"max_grad_norm", "train.grad_clip_norm", "", ""},
    {"channels_last", "train.channels_last", "true", ""},
    {"use_channels_last", "train.channels_last", "true", ""},
    {"label_smoothing", "loss.label_smoothing", "", ""},
    {"smoothing", "loss.label_smoothing", "", ""},
    {"check_val_every_n_epoch", "train.eval_every", "{}ep", ""},
    {"val_check_interval", "train.eval_every", "1ep", ""},
    {"eval_interval", "train.eval_every", "1ep", ""},
    {"limit_val_batches", "train.eval_batches", "", "train.eval_every=null: no evaluation at all"},
    {"val_dir", "data.val_path", "", ""},
    {"valid_dir", "data.val_path", "", ""},
    {"val_data_dir", "data.val_path", "", ""},
    {"validation_split", "data.val_share", "", ""},
    {"val_size", "data.val_share", "", ""},
    {"train_split", "data.train_folder", "", ""},
    {"val_split", "data.val_folder", "",
     "data.val_share=0.1 holds out a tenth of the training images"},
    {"target_accuracy", "train.stop_when", "'val/top1 >= {}'", kWithoutPercent},
    {"early_stopping_patience", "callbacks.early_stop.patience", "", ""},
    {"patience", "callbacks.early_stop.patience", "", ""},
    {"compile", "train.compile", "graph", "on GPUs; nothing is fused, kernels are replayed"},
    {"compile_model", "train.compile", "graph", "on GPUs; nothing is fused, kernels are replayed"},
    // Model.
    {"arch", "model.name", "", ""},
    {"a", "model.name", "", ""},
    {"model", "model.name", "", ""},
    {"m", "model.name", "", ""},
    {"model_name", "model.name", "", ""},
    {"model_type", "model.name", "", ""},
    {"num_classes", "model.num_classes", "", ""},
    {"freeze_layers", "model.freeze", "", ""},
    {"freeze_backbone", "model.freeze", "[stem, ...]", "parts by name; head is the rest"},
    {"layer_decay", "optimizer.lr_scale", "", "a factor for each part: {blocks.0: 0.5}"},
    {"pretrained", "model.pretrained", "FILE.safetensors", ""},
    // Ranks.
    {"sync_bn", "parallel.sync_batch_norm", "true", ""},
    {"sync_batchnorm", "parallel.sync_batch_norm", "true", ""},
    {"sync_batch_norm", "parallel.sync_batch_norm", "true", ""},
    {"strategy", "parallel.strategy", "", ""},
    {"devices", "--nproc", "", kPerMachine},
    {"gpus", "--nproc", "", kPerMachine},
    {"num_gpus", "--nproc", "", kPerMachine},
    {"ngpus_per_node", "--nproc", "", kPerMachine},
    {"num_processes", "--nproc", "",
     "ranks per machine, where Accelerate counts all machines together"},
    {"multi_gpu", "--nproc", "auto", ""},
    {"distributed", "--nproc", "auto", ""},
    {"multiprocessing_distributed", "--nproc", "auto", ""},
    {"ddp_enabled", "--nproc", "auto", ""},
    {"num_nodes", "--nnodes", "", ""},
    {"num_machines", "--nnodes", "", ""},
    {"machine_rank", "--node-rank", "", ""},
    {"world_size", "--nproc", "N", "and --nnodes: the world size is their product"},
    {"main_process_ip", "--master-addr", "", ""},
    {"main_process_port", "--master-port", "", ""},
    {"dist_url", "--rdzv", "HOST:PORT", ""},
    {"rank", "", "", kNoRank},
    {"local_rank", "", "", kNoRank},
    {"dist_backend", "", "", "NCCL joins GPUs and Gloo joins CPUs: leave it out"},
    {"device", "", "", kNoDevice},
    {"accelerator", "", "", kNoDevice},
    {"gpu", "", "", kNoDevice},
    // The run and its files.
    {"resume_from", "--resume", "", ""},
    {"resume_from_checkpoint", "--resume", "", ""},
    {"ckpt_path", "--resume", "", ""},
    {"load_path", "--resume", "", ""},
    {"output_dir", "run.dir", "", ""},
    {"default_root_dir", "run.dir", "", ""},
    {"save_folder", "run.dir", "", ""},
    {"experiment_name", "run.name", "", ""},
    {"exp_name", "run.name", "", ""},
    {"run_name", "run.name", "", ""},
    {"random_seed", "run.seed", "", ""},
    {"manual_seed", "run.seed", "", ""},
    {"seed", "run.seed", "", ""},
    {"deterministic", "run.deterministic", "true", ""},
    {"save_interval", "checkpoint.every", "", ""},
    {"checkpoint_interval", "checkpoint.every", "", ""},
    {"keep_last_n_checkpoints", "checkpoint.keep_last", "", ""},
    {"save_num_checkpoints_to_keep", "checkpoint.keep_last", "", ""},
    {"save_total_limit", "checkpoint.keep_last", "", ""},
    {"save_top_k", "checkpoint.keep_best", "", ""},
    {"log_every_n_steps", "loggers.console.interval_steps", "", ""},
    {"print_freq", "loggers.console.interval_steps", "", ""},
    {"log_interval", "loggers.console.interval_steps", "", ""},
    {"config", "", "", "give the recipe's file as the first argument, without an option"},
    {"cfg", "", "", "give the recipe's file as the first argument, without an option"},
    {"c", "", "", "give the recipe's file as the first argument, without an option"},
    {"trainer", "train", "", "the section of the training loop"},
};

struct Translation {
  std::string_view key;  // the last part of ours
  std::string_view foreign;
  std::string_view ours;
};

constexpr Translation kValues[] = {
    {"precision", "16", "fp16"},          {"precision", "16-mixed", "fp16"},
    {"precision", "amp", "fp16"},         {"precision", "amp_fp16", "fp16"},
    {"precision", "float16", "fp16"},     {"precision", "half", "fp16"},
    {"precision", "bf16-mixed", "bf16"},  {"precision", "bf16-true", "bf16"},
    {"precision", "amp_bf16", "bf16"},    {"precision", "bfloat16", "bf16"},
    {"precision", "32", "fp32"},          {"precision", "32-true", "fp32"},
    {"precision", "float32", "fp32"},     {"precision", "float", "fp32"},
    {"precision", "no", "fp32"},          {"precision", "64", "fp64"},
    {"precision", "64-true", "fp64"},     {"precision", "float64", "fp64"},
    {"precision", "double", "fp64"},      {"strategy", "auto", "ddp"},
    {"strategy", "ddp_spawn", "ddp"},     {"strategy", "ddp_notebook", "ddp"},
    {"strategy", "ddp_fork", "ddp"},      {"strategy", "dp", "ddp"},
    {"strategy", "data_parallel", "ddp"}, {"strategy", "single_device", "none"},
    {"strategy", "fsdp2", "fsdp"},        {"strategy", "full_shard", "fsdp"},
    {"strategy", "deepspeed", "fsdp"},    {"strategy", "deepspeed_stage_3", "fsdp"},
};

constexpr std::string_view kSecretWords[] = {"token",    "password",   "passwd",     "secret",
                                             "api_key",  "apikey",     "access_key", "private_key",
                                             "auth_key", "credential", "credentials"};
constexpr std::string_view kSecretPrefixes[] = {"hf_",  "ghp_", "github_pat_", "AKIA",
                                                "ASIA", "sk-",  "xoxb-",       "glpat-"};
constexpr std::size_t kShortestSecret = 16;

std::string normalized(std::string_view name) {
  while (name.starts_with('-')) name.remove_prefix(1);
  std::string result = base::to_lower(name);
  std::replace(result.begin(), result.end(), '-', '_');
  return result;
}

std::string last_part(std::string_view key) {
  const std::size_t dot = key.rfind('.');
  return normalized(dot == key.npos ? key : key.substr(dot + 1));
}

bool is_secret_name(std::string_view name) {
  const std::string part = last_part(name);
  return std::any_of(std::begin(kSecretWords), std::end(kSecretWords), [&](std::string_view word) {
    return part == word || part.ends_with(fmt::format("_{}", word));
  });
}

bool looks_like_secret(std::string_view value) {
  return value.size() >= kShortestSecret && value.find_first_of(" /.[{") == value.npos &&
         std::any_of(std::begin(kSecretPrefixes), std::end(kSecretPrefixes),
                     [&](std::string_view prefix) { return value.starts_with(prefix); });
}

constexpr std::string_view kSecretAdvice =
    "secrets come from the environment or the tool's own credential file, never from options or "
    "recipes";

// Both readings of a batch size of which we do not know whether it counts one rank or all.
std::string batch_size_advice(const std::string& value, int world_size) {
  const auto size =
      std::find_if_not(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; });
  const bool is_number = !value.empty() && value.size() < 10 && size == value.end();
  const std::string shown = is_number ? value : "N";
  std::string global = "samples per step over all ranks";
  std::string per_rank = "samples per step on each rank";
  if (is_number && world_size > 0) {
    const long long number = std::stoll(value);
    global = fmt::format("{} samples per step, {} on each of {} ranks", number,
                         number % world_size == 0 ? fmt::format("{}", number / world_size)
                                                  : fmt::format("{} or {}", number / world_size,
                                                                number / world_size + 1),
                         world_size);
    per_rank = fmt::format("{} on each of {} ranks, {} samples per step", number, world_size,
                           number * world_size);
  }
  return fmt::format("write data.global_batch_size={} ({}) or data.batch_size_per_rank={} ({})",
                     shown, global, shown, per_rank);
}

std::string advice_of(const ForeignName& found, const std::string& value) {
  if (found.key.empty()) return std::string(found.remark);
  std::string shown(found.value);
  const std::size_t place = shown.find("{}");
  const std::string given =
      value.empty() ? "VALUE" : translate_value(found.key, value).value_or(value);
  if (place != shown.npos) shown.replace(place, 2, given);
  std::string advice;
  if (found.key.starts_with("--")) {
    // Switches such as --fast-dev-run take no value; the others show the user's.
    const bool has_value = found.key != "--fast-dev-run";
    advice = fmt::format("write {}{}", found.key,
                         has_value ? " " + (shown.empty() ? given : shown) : "");
  } else if (found.key.find('.') == found.key.npos) {
    advice = fmt::format("write {}", found.key);
  } else {
    advice = fmt::format("write {}={}", found.key, shown.empty() ? given : shown);
  }
  if (!found.remark.empty()) advice += fmt::format(" ({})", found.remark);
  return advice;
}

// mixup, use_ema, no_cutmix, mixup_alpha: algorithms are added and removed by name.
std::optional<std::string> algorithm_advice(const std::string& name, const std::string& value,
                                            const ComponentCatalog& algorithms) {
  for (const auto& [algorithm, entry] : algorithms.entries()) {
    if (name == "no_" + algorithm) return fmt::format("write ~algorithms.{}", algorithm);
    if (name == algorithm || name == "use_" + algorithm)
      return fmt::format("write +algorithms.{}", algorithm);
    if (!name.starts_with(algorithm + "_")) continue;
    const std::string field = name.substr(algorithm.size() + 1);
    if (entry.info->find(field) != nullptr) {
      return fmt::format("write +algorithms.{}.{}={}", algorithm, field,
                         value.empty() ? "VALUE" : value);
    }
  }
  return std::nullopt;
}

std::optional<std::string> advice_for(const std::string& name, const std::string& value,
                                      const ComponentCatalog* algorithms, int world_size) {
  if (is_secret_name(name)) return std::string(kSecretAdvice);
  if (name == "batch_size" || name == "b") return batch_size_advice(value, world_size);
  const auto found =
      std::find_if(std::begin(kNames), std::end(kNames),
                   [&](const ForeignName& candidate) { return candidate.name == name; });
  if (found != std::end(kNames)) return advice_of(*found, value);
  return algorithms != nullptr ? algorithm_advice(name, value, *algorithms) : std::nullopt;
}

}  // namespace

std::span<const ForeignName> foreign_names() { return kNames; }

std::optional<std::string> foreign_key_advice(std::string_view section, std::string_view key,
                                              const Node& value, const ComponentCatalog* algorithms,
                                              int world_size) {
  const std::string name = normalized(key);
  // `lr` in the section `optimizer` would be told to write what it already is.
  for (const ForeignName& candidate : kNames) {
    if (candidate.name == name && candidate.key == join_path(section, key)) return std::nullopt;
  }
  return advice_for(name, value.is_scalar() ? base::excerpt(value.text) : "", algorithms,
                    world_size);
}

std::optional<std::string> foreign_option_advice(std::string_view option, std::string_view value,
                                                 const ComponentCatalog* algorithms,
                                                 int world_size) {
  const std::size_t equals = option.find('=');
  if (equals != option.npos) value = option.substr(equals + 1);
  // The next option is not this one's value.
  if (value.starts_with("--")) value = "";
  return advice_for(normalized(option.substr(0, equals)), std::string(value), algorithms,
                    world_size);
}

std::optional<std::string> translate_value(std::string_view key, std::string_view value) {
  const std::string part = last_part(key);
  for (const Translation& candidate : kValues) {
    if (candidate.key == part && candidate.foreign == value) return std::string(candidate.ours);
  }
  return std::nullopt;
}

bool is_secret(std::string_view name, std::string_view value) {
  return is_secret_name(name) || looks_like_secret(value);
}

std::string_view secret_advice() { return kSecretAdvice; }

void refuse_secret(std::string_view name, std::string_view value) {
  if (!is_secret(name, value)) return;
  throw base::ConfigError(fmt::format(
      "'{}' seems to hold a secret, which other users of this machine can read in the list of "
      "processes: {}",
      name, kSecretAdvice));
}

}  // namespace paceline::config
