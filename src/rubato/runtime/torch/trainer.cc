#include "rubato/runtime/worker/trainer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <torch/torch.h>

#include "rubato/runtime/adapt/noise_scale.h"
#include "rubato/runtime/data/sample_order.h"
#include "rubato/runtime/group/gloo_across.h"
#include "rubato/runtime/machine/matrix_speed.h"
#include "rubato/runtime/worker/elastic_worker.h"
#include "rubato/runtime/worker/flat_model.h"
#include "rubato/runtime/worker/worker_address.h"

namespace rubato {
namespace {

constexpr auto kConnectPatience = std::chrono::seconds(10);
constexpr int kCheckEvery = 64;  // Steps between comparisons of all workers' parameters.

constexpr const char* kDifferentBuffers =
    "a buffer of the model changed in a step and is not the same on all workers, each of which "
    "sees "
    "only its part of a batch; only statistics of batch and instance normalisation are averaged";

std::string cpuinfo() {
  std::ifstream file("/proc/cpuinfo");
  return {std::istreambuf_iterator<char>(file), {}};
}

// The optimizer's state, whole: its own format is self-describing.
class OptimizerState final : public TrainingState {
 public:
  OptimizerState(torch::optim::Optimizer& optimizer, FlatModel& model)
      : optimizer_(optimizer), model_(model) {}

  [[nodiscard]] Result<std::string> save() override {
    if (Status back = model_.bring_back(); !back) {
      return back.error();
    }
    try {
      std::ostringstream stream;
      torch::serialize::OutputArchive archive;
      optimizer_.save(archive);
      model_.save_buffers(archive);
      archive.save_to(stream);
      return stream.str();
    } catch (const std::exception& error) {
      return bad_input(fmt::format("cannot save the optimizer: {}", error.what()));
    }
  }

  [[nodiscard]] Status load(std::string_view bytes) override {
    try {
      torch::serialize::InputArchive archive;
      archive.load_from(bytes.data(), bytes.size());
      optimizer_.load(archive);
      model_.load_buffers(archive);
      return ok_status();
    } catch (const std::exception& error) {
      return bad_input(fmt::format("cannot load the optimizer: {}", error.what()));
    }
  }

 private:
  torch::optim::Optimizer& optimizer_;
  FlatModel& model_;
};

}  // namespace

/// What a trainer does, out of sight of headers.
class Trainer::Engine {
 public:
  Engine(std::shared_ptr<torch::nn::Module> model, torch::optim::Optimizer& optimizer,
         TrainerOptions options)
      : noise(options.batch),
        optimizer_(optimizer),
        options_(std::move(options)),
        model_(std::move(model)),
        state_(optimizer, model_) {}

  void open();
  const TrainerPart* next();
  void step(const at::Tensor& loss);

  Status status = ok_status();
  bool is_complete = false;
  NoiseScale noise;
  std::unique_ptr<ElasticWorker> worker{};

 private:
  bool begin();
  void finish_step();
  [[nodiscard]] Result<ReduceVerdict> reduce();
  [[nodiscard]] Result<ReduceVerdict> make_equal();
  void fill_part();
  void fail(Error error) { status = std::move(error); }

  torch::optim::Optimizer& optimizer_;
  TrainerOptions options_;
  FlatModel model_;
  OptimizerState state_;
  std::optional<StepTask> task_{};  // None between two steps.
  std::size_t slot_ = 0;            // The shard being computed.
  double loss_sum_ = 0;
  std::uint64_t loss_samples_ = 0;
  double tag_ = 0;  // Of the buffers, after a shard; 0: none was computed.
  TrainerPart part_{};
  std::vector<std::int64_t> samples_{};
};

void Trainer::Engine::open() {
  if (dynamic_cast<torch::optim::LBFGS*>(&optimizer_) != nullptr) {
    return fail(
        bad_input("LBFGS computes the loss again within a step, which workers that share a "
                  "batch cannot do"));
  }
  const auto address = worker_address();
  if (!address) {
    return fail(address.error());
  }
  // One worker of a job is enough to say it.
  if (address->worker <= 1) {
    const std::string warning = slow_matrix_warning(matrix_gigaflops(), cpuinfo());
    if (!warning.empty()) {
      fmt::print(stderr, "rubato: {}\n", warning);
    }
  }
  const int shards = options_.is_deterministic ? kVirtualShards : 0;
  auto joined =
      ElasticWorker::join({.address = *address,
                           .layout = {.parameter_bytes = model_.state_floats() * sizeof(float),
                                      .floats = model_.slot_floats(),
                                      .slots = static_cast<std::size_t>(std::max(1, shards))},
                           .cut = {.samples = options_.samples,
                                   .batch = options_.batch,
                                   .drop_last = options_.drops_last},
                           .shards = shards,
                           .join_remote = gloo_across(options_.address, kConnectPatience),
                           .measures_noise = options_.measures_noise,
                           .measured_floats = model_.gradient_floats(),
                           .check_every = kCheckEvery},
                          state_);
  if (!joined) {
    return fail(joined.error());
  }
  worker = std::move(*joined);
  model_.move_into(worker->arena());
  worker->warm();
}

// Begins the next step; false at the end.
bool Trainer::Engine::begin() {
  if (Status back = model_.bring_back(); !back) {
    fail(back.error());
    return false;
  }
  auto task = worker->begin();
  if (!task) {
    fail(task.error());
    return false;
  }
  if (task->kind == StepKind::Leave) {
    return false;
  }
  if (task->cursor.epoch >= options_.epochs) {
    if (Status finished = worker->finish(); !finished) {
      fail(finished.error());
    }
    is_complete = status.ok();
    return false;
  }
  task_ = *task;
  slot_ = 0;
  loss_sum_ = 0;
  loss_samples_ = 0;
  tag_ = 0;
  model_.begin_step();
  return true;
}

void Trainer::Engine::fill_part() {
  const StepRange& shard = task_->shards[slot_];
  const EpochOrder order = SampleOrder{.dataset_size = options_.samples,
                                       .seed = worker->seed(),
                                       .is_shuffled = options_.is_shuffled}
                               .epoch(shard.epoch);
  samples_.clear();
  for (std::uint64_t at = shard.begin; at < shard.end; ++at) {
    samples_.push_back(static_cast<std::int64_t>(order.at(at)));
  }
  // What is drawn at random, such as dropout, is a function of step and shard alone.
  torch::manual_seed(worker->seed() * 0x9e3779b97f4a7c15U + task_->cursor.step * 4096U +
                     task_->first_shard + slot_);
  part_ = {.step = task_->cursor.step, .epoch = task_->cursor.epoch, .samples = samples_};
}

const TrainerPart* Trainer::Engine::next() {
  while (status) {
    if (!task_ && !begin()) {
      return nullptr;
    }
    while (slot_ < task_->shards.size() && task_->shards[slot_].samples() == 0) {
      model_.skip_shard(slot_++);
    }
    if (slot_ < task_->shards.size()) {
      model_.begin_shard();
      fill_part();
      return &part_;
    }
    finish_step();
  }
  return nullptr;
}

void Trainer::Engine::step(const at::Tensor& loss) {
  try {
    loss.backward();
    if (Status back = model_.bring_back(); !back) {
      return fail(back.error());
    }
    model_.end_shard(slot_);
    const double tag = model_.tag();
    if (tag_ != 0 && tag != tag_) {
      return fail(bad_input(kDifferentBuffers));
    }
    tag_ = tag;
    const auto count = task_->shards[slot_].samples();
    loss_sum_ += loss.item<double>() * static_cast<double>(count);
    loss_samples_ += count;
    ++slot_;
    // Shards without samples need no computing: whoever has none left sums at once.
    while (slot_ < task_->shards.size() && task_->shards[slot_].samples() == 0) {
      model_.skip_shard(slot_++);
    }
    if (slot_ == task_->shards.size()) {
      finish_step();
    }
  } catch (const std::exception& error) {
    fail(bad_input(fmt::format("step {}: {}", task_ ? task_->cursor.step : 0, error.what())));
  }
}

Result<ReduceVerdict> Trainer::Engine::reduce() {
  const double mean = loss_samples_ == 0 ? 0 : loss_sum_ / static_cast<double>(loss_samples_);
  // Parameters are compared between workers now and then, and statistics lie among them.
  model_.restore_statistics();
  // Negative: of a worker without samples.
  auto verdict = worker->reduce({.loss = mean, .tag = tag_ == 0 ? -model_.tag() : tag_});
  return verdict && *verdict == ReduceVerdict::Apply ? make_equal() : verdict;
}

// Compares the buffers that are not averaged; who had no samples gets them.
Result<ReduceVerdict> Trainer::Engine::make_equal() {
  const std::vector<double> tags = worker->tags();
  const auto source = std::ranges::find_if(tags, [](double tag) { return tag > 0; });
  bool is_equal = true;
  for (const double tag : tags) {
    if (tag > 0 && tag != *source) {
      return bad_input(kDifferentBuffers);
    }
    is_equal = is_equal && std::abs(tag) == *source;
  }
  if (is_equal) {
    return ReduceVerdict::Apply;
  }
  std::string buffers = model_.save_buffers();
  const auto verdict = worker->copy_from(static_cast<int>(source - tags.begin()), buffers);
  if (!verdict || *verdict == ReduceVerdict::Redo || tag_ != 0) {
    return verdict;
  }
  if (Status loaded = model_.load_buffers(buffers); !loaded) {
    return loaded.error();
  }
  return ReduceVerdict::Apply;
}

// All shards of this worker are computed.
void Trainer::Engine::finish_step() {
  const std::uint64_t samples = task_->samples;
  task_.reset();
  const auto verdict = reduce();
  if (!verdict) {
    return fail(verdict.error());
  }
  if (*verdict == ReduceVerdict::Redo) {
    model_.undo_step();
    return;
  }
  model_.take_mean();
  optimizer_.step();
  if (options_.measures_noise) {
    noise.add(samples, worker->split().weights(), worker->report());
  }
  if (Status committed = worker->commit(); !committed) {
    fail(committed.error());
  }
}

Trainer::Trainer(std::shared_ptr<torch::nn::Module> model, torch::optim::Optimizer& optimizer,
                 TrainerOptions options)
    : engine_(std::make_unique<Engine>(std::move(model), optimizer, std::move(options))) {
  engine_->open();
}

Trainer::~Trainer() = default;

const Status& Trainer::status() const { return engine_->status; }
const TrainerPart* Trainer::next() { return engine_->next(); }
void Trainer::step(const at::Tensor& loss) { engine_->step(loss); }
bool Trainer::is_leader() const { return engine_->worker->is_leader(); }
bool Trainer::is_complete() const { return engine_->is_complete; }
double Trainer::loss() const { return engine_->worker->mean_loss(); }
double Trainer::noise_scale() const {
  return engine_->noise.is_measured() ? engine_->noise.scale() : 0;
}
std::uint64_t Trainer::parameter_hash() const { return engine_->worker->parameter_hash(); }

}  // namespace rubato
