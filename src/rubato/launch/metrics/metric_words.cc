#include "rubato/launch/metrics/metric_words.h"

#include <algorithm>
#include <array>
#include <string>

namespace rubato::launch::metrics {
namespace {

// All in order, for a binary search.
constexpr auto kMetricWords = std::to_array<std::string_view>(
    {"acc",       "acc1",  "acc5",   "accuracy", "auc",    "auroc",     "bce",        "bleu",
     "bpc",       "bpd",   "cer",    "chrf",     "cost",   "dice",      "elbo",       "em",
     "entropy",   "err",   "error",  "f1",       "fid",    "gnorm",     "iou",        "kl",
     "kld",       "loss",  "losses", "lr",       "mae",    "map",       "mcc",        "miou",
     "mrr",       "mse",   "ndcg",   "nll",      "norm",   "objective", "perplexity", "ppl",
     "precision", "psnr",  "r2",     "rate",     "recall", "return",    "reward",     "rmse",
     "rouge",     "score", "ssim",   "top1",     "top5",   "wer"});
constexpr auto kCounterWords = std::to_array<std::string_view>(
    {"batch",   "batches",    "beta",       "beta1",    "beta2",     "betas",      "bs",
     "bytes",   "channels",   "checkpoint", "classes",  "count",     "data",       "date",
     "day",     "decay",      "depth",      "dim",      "dropout",   "elapsed",    "epoch",
     "epochs",  "eps",        "epsilon",    "eta",      "examples",  "files",      "gamma",
     "gb",      "gpu",        "gpus",       "height",   "hidden",    "host",       "hours",
     "id",      "index",      "it",         "iter",     "iteration", "iterations", "iters",
     "kb",      "layers",     "length",     "level",    "line",      "max",        "mb",
     "memory",  "min",        "minutes",    "momentum", "ms",        "num",        "p",
     "param",   "parameters", "params",     "pid",      "port",      "rank",       "remaining",
     "samples", "sec",        "seconds",    "secs",     "seed",      "size",       "step",
     "steps",   "time",       "timestamp",  "version",  "width",     "workers"});
constexpr auto kQualifiers = std::to_array<std::string_view>(
    {"average", "avg",      "best",     "class",    "curr",      "current",  "dev",
     "eval",    "final",    "grad",     "gradient", "last",      "learning", "mean",
     "overall", "running",  "smoothed", "test",     "top1",      "top5",     "total",
     "train",   "training", "val",      "valid",    "validation"});
constexpr auto kRatioWords = std::to_array<std::string_view>(
    {"acc", "acc1", "acc5", "accuracy", "error", "precision", "recall", "top1", "top5"});

static_assert(std::ranges::is_sorted(kMetricWords) && std::ranges::is_sorted(kCounterWords) &&
              std::ranges::is_sorted(kQualifiers) && std::ranges::is_sorted(kRatioWords));

std::string lowered(std::string_view word) {
  std::string low(word);
  std::ranges::transform(low, low.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  return low;
}

template <typename Words>
bool has(const Words& words, std::string_view word) {
  return std::ranges::binary_search(words, std::string_view(word));
}

// The last word of `val_loss`, `train/acc@5`, `metrics.f1-score`.
std::string last_word(std::string_view name) {
  name = name.substr(0, name.find('@'));
  const std::size_t cut = name.find_last_of("_/.- ");
  return lowered(cut == std::string_view::npos ? name : name.substr(cut + 1));
}

}  // namespace

NameKind name_kind(std::string_view name) {
  const std::string word = last_word(name);
  if (has(kMetricWords, word)) {
    return NameKind::Metric;
  }
  const bool is_number_of = lowered(name).starts_with("num_") || lowered(name).starts_with("n_") ||
                            lowered(name) == "v_num";
  return is_number_of || has(kCounterWords, word) ? NameKind::Counter : NameKind::Unknown;
}

bool is_qualifier(std::string_view word) {
  const std::string low = lowered(word);
  return has(kQualifiers, low) || has(kMetricWords, low);
}

bool is_ratio(std::string_view name) { return has(kRatioWords, last_word(name)); }

}  // namespace rubato::launch::metrics
