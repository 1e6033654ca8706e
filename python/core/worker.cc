#include "worker.h"

#include <stdexcept>
#include <string>
#include <string_view>

#include <pybind11/stl.h>

#include "rubato/runtime/worker/content_hash.h"

namespace rubato::python {
namespace {

namespace py = pybind11;

using Locality = std::pair<std::uint64_t, std::uint64_t>;

/// Turns an error into what Python raises.
template <typename T>
T value_or_raise(Result<T> result) {
  if (!result) {
    const Error& error = result.error();
    if (error.code == ErrorCode::Io) {
      PyErr_SetString(PyExc_ConnectionError, error.message.c_str());
      throw py::error_already_set();
    }
    throw py::value_error(error.message);
  }
  return std::move(result).value();
}

Error python_error(const char* doing, const py::error_already_set& error) {
  return bad_input(std::string(doing) + ": " + error.what());
}

std::shared_ptr<Worker> open_worker(const py::dict& options, py::function save, py::function load) {
  WorkerSetup setup;
  setup.address = {.socket = options["socket"].cast<std::string>(),
                   .worker = options["worker"].cast<std::uint64_t>(),
                   .token = options["token"].cast<std::uint64_t>(),
                   .host = options["host"].cast<std::string>()};
  setup.layout = {.parameter_bytes = options["parameter_bytes"].cast<std::size_t>(),
                  .floats = options["floats"].cast<std::size_t>(),
                  .slots = options["slots"].cast<std::size_t>()};
  setup.cut = {.samples = options["samples"].cast<std::uint64_t>(),
               .batch = options["batch"].cast<std::uint64_t>(),
               .drop_last = options["drop_last"].cast<bool>()};
  setup.shards = options["shards"].cast<int>();
  setup.measures_noise = options["measures_noise"].cast<bool>();
  setup.measured_floats = options["measured_floats"].cast<std::size_t>();
  setup.check_every = options["check_every"].cast<int>();
  return std::make_shared<Worker>(std::move(setup), std::move(save), std::move(load));
}

py::buffer_info buffer_of(ArenaView& view) {
  const auto size = static_cast<py::ssize_t>(view.is_float ? sizeof(float) : 1);
  return {view.memory, size, view.is_float ? "f" : "B", 1, {static_cast<py::ssize_t>(view.items)},
          {size}};
}

ArenaView parameters_of(Worker& worker) {
  const std::span<std::byte> bytes = worker.core().arena().parameters();
  return {.owner = worker.core().share_arena(), .memory = bytes.data(), .items = bytes.size()};
}

ArenaView slot_of(Worker& worker, std::size_t index) {
  if (index >= worker.core().arena().layout().slots) {
    throw py::index_error("no such slot");
  }
  const std::span<float> floats = worker.core().arena().slot(index);
  return {.owner = worker.core().share_arena(),
          .memory = floats.data(),
          .items = floats.size(),
          .is_float = true};
}

std::vector<Locality> shards_of(const StepTask& task) {
  std::vector<Locality> shards;
  for (const StepRange& shard : task.shards) {
    shards.emplace_back(shard.begin, shard.end);
  }
  return shards;
}

std::uint64_t hash_of(const py::buffer& memory) {
  const py::buffer_info info = memory.request();
  return content_hash({static_cast<const std::byte*>(info.ptr),
                       static_cast<std::size_t>(info.size * info.itemsize)});
}

std::tuple<std::uint64_t, std::uint64_t, std::uint64_t> next_range_of(Worker& worker) {
  const StepRange range = worker.core().next_range();
  return {range.epoch, range.begin, range.end};
}

}  // namespace

Result<std::string> CallbackState::save() {
  const py::gil_scoped_acquire lock;
  try {
    return std::string(save_().cast<py::bytes>());
  } catch (const py::error_already_set& error) {
    return python_error("cannot save the training state", error);
  } catch (const py::cast_error&) {
    return bad_input("cannot save the training state: expected bytes");
  }
}

Status CallbackState::load(std::string_view bytes) {
  const py::gil_scoped_acquire lock;
  try {
    load_(py::bytes(bytes.data(), bytes.size()));
    return ok_status();
  } catch (const py::error_already_set& error) {
    return python_error("cannot take over the training state", error);
  }
}

Worker::Worker(WorkerSetup setup, py::function save, py::function load)
    : state_(std::move(save), std::move(load)) {
  const py::gil_scoped_release unlock;
  auto joined = ElasticWorker::join(std::move(setup), state_);
  const py::gil_scoped_acquire lock;
  core_ = value_or_raise(std::move(joined));
}

ElasticWorker& Worker::core() {
  if (core_ == nullptr) {
    throw std::runtime_error("this worker is closed");
  }
  return *core_;
}

void Worker::close() {
  const py::gil_scoped_release unlock;
  core_.reset();
}

std::optional<StepTask> Worker::begin() {
  Result<StepTask> begun = [this] {
    const py::gil_scoped_release unlock;
    return core().begin();
  }();
  const StepTask task = value_or_raise(std::move(begun));
  return task.kind == StepKind::Leave ? std::nullopt : std::optional(task);
}

bool Worker::reduce(double loss, double data_seconds, double tag) {
  Result<ReduceVerdict> reduced = [&] {
    const py::gil_scoped_release unlock;
    return core().reduce({.loss = loss, .data_seconds = data_seconds, .tag = tag});
  }();
  return value_or_raise(std::move(reduced)) == ReduceVerdict::Apply;
}

std::optional<py::bytes> Worker::copy_from(int rank, std::string bytes) {
  Result<ReduceVerdict> copied = [&] {
    const py::gil_scoped_release unlock;
    return core().copy_from(rank, bytes);
  }();
  if (value_or_raise(std::move(copied)) == ReduceVerdict::Redo) {
    return std::nullopt;
  }
  return py::bytes(bytes);
}

void Worker::commit() {
  value_or_raise([this] {
    const py::gil_scoped_release unlock;
    return core().commit();
  }());
}

void Worker::finish() {
  value_or_raise([this] {
    const py::gil_scoped_release unlock;
    return core().finish();
  }());
}

void bind_worker(py::module_& module) {
  py::class_<ArenaView>(module, "ArenaView", py::buffer_protocol()).def_buffer(&buffer_of);

  py::class_<StepTask>(module, "StepTask", "This worker's part of a step.")
      .def_readonly("generation", &StepTask::generation)
      .def_readonly("rank", &StepTask::rank)
      .def_readonly("size", &StepTask::size)
      .def_readonly("samples", &StepTask::samples)
      .def_readonly("first_shard", &StepTask::first_shard)
      .def_property_readonly("step", [](const StepTask& task) { return task.cursor.step; })
      .def_property_readonly("shards", &shards_of);

  py::class_<Worker, std::shared_ptr<Worker>>(module, "Worker", "One worker of an elastic job.")
      .def(py::init(&open_worker), py::arg("options"), py::arg("save"), py::arg("load"))
      .def("parameters", &parameters_of)
      .def("slot", &slot_of)
      .def("begin", &Worker::begin)
      .def("reduce", &Worker::reduce, py::arg("loss"), py::arg("data_seconds"), py::arg("tag"))
      .def("copy_from", &Worker::copy_from, py::arg("rank"), py::arg("bytes"))
      .def("commit", &Worker::commit)
      .def("finish", &Worker::finish)
      .def("close", &Worker::close)
      .def("warm", [](Worker& worker) { worker.core().warm(); })
      .def("refuse",
           [](Worker& worker, const std::string& reason) { worker.core().refuse(reason); })
      .def("propose_batch",
           [](Worker& worker, std::uint64_t batch) { worker.core().propose_batch(batch); })
      .def_property_readonly("seed", [](Worker& worker) { return worker.core().seed(); })
      .def_property_readonly("epoch_on_joining",
                             [](Worker& worker) { return worker.core().epoch_on_joining(); })
      .def_property_readonly("step", [](Worker& worker) { return worker.core().cursor().step; })
      .def_property_readonly("next_range", &next_range_of, "Epoch, begin and end.")
      .def_property_readonly("batch", [](Worker& worker) { return worker.core().batch(); })
      .def_property_readonly("tags", [](Worker& worker) { return worker.core().tags(); })
      .def_property_readonly("mean_loss", [](Worker& worker) { return worker.core().mean_loss(); })
      .def_property_readonly("is_leader", [](Worker& worker) { return worker.core().is_leader(); })
      .def_property_readonly("parameter_hash",
                             [](Worker& worker) { return worker.core().parameter_hash(); });

  module.def("content_hash", &hash_of, "Of contiguous memory.");
}

}  // namespace rubato::python
