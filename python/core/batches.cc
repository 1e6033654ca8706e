// The order of samples, the noise of gradients and the choice of the batch, for Python.
#include <map>
#include <string>
#include <vector>

#include <pybind11/stl.h>

#include "rubato/runtime/adapt/adaptive_batch.h"
#include "rubato/runtime/adapt/noise_scale.h"
#include "rubato/runtime/data/sample_order.h"
#include "worker.h"

namespace rubato::python {
namespace {

namespace py = pybind11;

using Totals = std::tuple<double, double, double, std::uint64_t>;
using Times = std::vector<std::tuple<std::uint64_t, double, double>>;

std::vector<std::uint64_t> samples_between(const SampleOrder& order, std::uint64_t epoch,
                                           std::uint64_t begin, std::uint64_t end) {
  if (begin > end || end > order.dataset_size) {
    throw py::index_error("positions beyond the end of the epoch");
  }
  const EpochOrder positions = order.epoch(epoch);
  std::vector<std::uint64_t> samples;
  samples.reserve(end - begin);
  for (std::uint64_t position = begin; position < end; ++position) {
    samples.push_back(positions.at(position));
  }
  return samples;
}

/// The same as 64-bit integers in memory, which a tensor can be made of without reading a list.
py::bytearray packed_samples_between(const SampleOrder& order, std::uint64_t epoch,
                                     std::uint64_t begin, std::uint64_t end) {
  const std::vector<std::uint64_t> samples = samples_between(order, epoch, begin, end);
  return {reinterpret_cast<const char*>(samples.data()), samples.size() * sizeof(std::uint64_t)};
}

RateRule rate_rule(const std::string& name) {
  const std::map<std::string, RateRule> rules = {{"unchanged", RateRule::Unchanged},
                                                 {"adascale", RateRule::AdaScale},
                                                 {"adamscale", RateRule::AdamScale},
                                                 {"linear", RateRule::Linear},
                                                 {"square_root", RateRule::SquareRoot}};
  const auto found = rules.find(name);
  if (found == rules.end()) {
    throw py::value_error("no rule for learning rates is called " + name);
  }
  return found->second;
}

bool add_step(NoiseScale& noise, Worker& worker, std::uint64_t samples) {
  return noise.add(samples, worker.core().split().weights(), worker.core().report());
}

Totals totals_of(const NoiseScale& noise) {
  const NoiseTotals& totals = noise.totals();
  return {totals.squared_sum, totals.trace_sum, totals.weight_sum, totals.steps};
}

void resume(NoiseScale& noise, const Totals& totals) {
  noise.resume({.squared_sum = std::get<0>(totals),
                .trace_sum = std::get<1>(totals),
                .weight_sum = std::get<2>(totals),
                .steps = std::get<3>(totals)});
}

AdaptiveBatch open_adaptive(std::uint64_t batch_min, std::uint64_t batch_max,
                            std::uint64_t noise_steps, std::uint64_t steps_between) {
  return AdaptiveBatch({.is_enabled = true,
                        .batch_min = batch_min,
                        .batch_max = batch_max,
                        .noise_steps = noise_steps,
                        .steps_between = steps_between});
}

/// The batch to go on with; 0 for no change.
std::uint64_t propose(const AdaptiveBatch& adaptive, std::uint64_t batch,
                      std::uint64_t steps_since_change, const NoiseScale& noise,
                      const Times& measured) {
  std::vector<BatchTime> times;
  for (const auto& [size, seconds, steps] : measured) {
    times.push_back({.batch = size, .seconds = seconds, .steps = steps});
  }
  const BatchProposal proposal = adaptive.propose(batch, steps_since_change, noise, times);
  return proposal.is_change ? proposal.batch : 0;
}

}  // namespace

void bind_batches(py::module_& module) {
  py::class_<SampleOrder>(module, "SampleOrder", "Which samples an epoch uses, in which order.")
      .def(py::init([](std::uint64_t size, std::uint64_t seed, bool is_shuffled) {
             if (size == 0) {
               throw py::value_error("the dataset is empty");
             }
             return SampleOrder{.dataset_size = size, .seed = seed, .is_shuffled = is_shuffled};
           }),
           py::arg("size"), py::arg("seed"), py::arg("is_shuffled"))
      .def("samples", &samples_between, py::arg("epoch"), py::arg("begin"), py::arg("end"))
      .def("packed_samples", &packed_samples_between, py::arg("epoch"), py::arg("begin"),
           py::arg("end"));

  py::class_<NoiseScale>(module, "NoiseScale", "How noisy the gradients are.")
      .def(py::init<std::uint64_t>(), py::arg("initial_batch"))
      .def("add", &add_step, py::arg("worker"), py::arg("samples"))
      .def_property("totals", &totals_of, &resume)
      .def_property_readonly("is_measured", &NoiseScale::is_measured)
      .def_property_readonly("scale", &NoiseScale::scale)
      .def("gain", &NoiseScale::gain)
      .def("rate_factor", [](const NoiseScale& noise, const std::string& rule, double batch) {
        return noise.rate_factor(rate_rule(rule), batch);
      });

  py::class_<AdaptiveBatch>(module, "AdaptiveBatch", "Chooses the batch that learns fastest.")
      .def(py::init(&open_adaptive), py::arg("batch_min"), py::arg("batch_max"),
           py::arg("noise_steps") = 20, py::arg("steps_between") = 100)
      .def("propose", &propose, py::arg("batch"), py::arg("steps_since_change"), py::arg("noise"),
           py::arg("times"));
}

}  // namespace rubato::python
