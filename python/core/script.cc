#include "script.h"

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <pybind11/stl.h>

#include "rubato/runtime/script/script_link.h"

namespace rubato::python {
namespace {

namespace py = pybind11;

using runtime::script::MetricReport;
using runtime::script::ScriptLink;
using Unlocked = py::call_guard<py::gil_scoped_release>;

// Raises what Python code expects: a lost connection is one, all else is a wrong value.
void raise_script_error(const Error& error) {
  if (error.code == ErrorCode::Io) {
    PyErr_SetString(PyExc_ConnectionError, error.message.c_str());
    throw py::error_already_set();
  }
  throw py::value_error(error.message);
}

std::shared_ptr<ScriptLink> connect_script(const std::string& socket, std::uint64_t worker,
                                           std::uint64_t token) {
  auto connected = [&] {
    const py::gil_scoped_release unlock;
    return ScriptLink::connect({.socket = socket, .worker = worker, .token = token});
  }();
  if (!connected) {
    raise_script_error(connected.error());
  }
  return std::move(*connected);
}

void write_script_snapshot(ScriptLink& link, std::uint64_t step, const py::buffer& state) {
  const py::buffer_info info = state.request();
  if (!PyBuffer_IsContiguous(info.view(), 'C')) {
    throw py::value_error("the state must be contiguous");
  }
  const Status written = [&] {
    const py::gil_scoped_release unlock;
    return link.write_snapshot(
        step, {static_cast<const std::byte*>(info.ptr),
               static_cast<std::size_t>(info.size) * static_cast<std::size_t>(info.itemsize)});
  }();
  if (!written) {
    raise_script_error(written.error());
  }
}

std::optional<py::bytes> script_resume_state(const ScriptLink& link) {
  auto state = link.resume_state();
  if (!state) {
    raise_script_error(state.error());
  }
  return *state ? std::optional(py::bytes(**state)) : std::nullopt;
}

void report_script_metrics(
    ScriptLink& link, const std::vector<std::tuple<std::string, double, std::uint64_t>>& points) {
  std::vector<MetricReport> reports;
  for (const auto& [name, value, step] : points) {
    reports.push_back({.name = name, .value = value, .step = step});
  }
  const py::gil_scoped_release unlock;
  link.report_metrics(reports);
}

void connect_script_again(ScriptLink& link) {
  const Status connected = [&] {
    const py::gil_scoped_release unlock;
    return link.after_fork();
  }();
  if (!connected) {
    raise_script_error(connected.error());
  }
}

std::optional<std::string> script_exit_reason(const ScriptLink& link) {
  const std::string reason = link.exit_reason();
  return reason.empty() ? std::nullopt : std::optional(reason);
}

void bind_orders(py::class_<ScriptLink, std::shared_ptr<ScriptLink>>& link) {
  link.def_property_readonly(
          "workers", [](const ScriptLink& self) { return self.wanted().workers; },
          "How many workers are wanted, the leader among them.")
      .def_property_readonly("order", [](const ScriptLink& self) { return self.wanted().order; })
      .def_property_readonly("wants_suspend", &ScriptLink::wants_suspend)
      .def_property_readonly("exit_reason", &script_exit_reason,
                             "Why the script must leave; None while it need not.")
      .def("take_snapshot_request", &ScriptLink::take_snapshot_request,
           "True once for each snapshot that is due or was asked for.")
      .def("resume_state", &script_resume_state)
      .def("wait_resume", &ScriptLink::wait_resume, Unlocked(),
           "Blocks; True: go on, False: leave.")
      .def_property_readonly("resume_step",
                             [](const ScriptLink& self) { return self.welcome().resume_step(); })
      .def_property_readonly("seed", [](const ScriptLink& self) { return self.welcome().seed(); })
      .def_property_readonly("snapshot_steps",
                             [](const ScriptLink& self) { return self.welcome().snapshot_steps(); })
      .def_property_readonly("steps_declared",
                             [](const ScriptLink& self) { return self.welcome().steps_declared(); })
      .def_property_readonly("until",
                             [](const ScriptLink& self) { return self.welcome().until(); });
}

void bind_reports(py::class_<ScriptLink, std::shared_ptr<ScriptLink>>& link) {
  link.def("report_step", &ScriptLink::report_step, py::arg("step"), py::arg("loss"), Unlocked(),
           "So many steps are committed; a loss of nan is not known.")
      .def("epoch", &ScriptLink::set_epoch, py::arg("epoch"))
      .def(
          "replicas",
          [](ScriptLink& self, const std::vector<pid_t>& pids) { self.set_replicas(pids); },
          py::arg("pids"), Unlocked(),
          "The replicas, the oldest first; to be called before one of them is waited for.")
      .def(
          "resized",
          [](ScriptLink& self, int workers, double pause_seconds, std::uint64_t step,
             const std::string& cause, const std::vector<pid_t>& pids, bool is_forced) {
            self.report_resize({.workers = workers,
                                .pause_seconds = pause_seconds,
                                .step = step,
                                .cause = cause,
                                .pids = pids,
                                .is_forced = is_forced});
          },
          py::arg("workers"), py::arg("pause_seconds"), py::arg("step"), py::arg("cause") = "",
          py::arg("pids") = std::vector<pid_t>{}, py::arg("is_forced") = false, Unlocked())
      .def(
          "profile",
          [](ScriptLink& self, int workers, std::uint64_t steps, double seconds) {
            self.report_profile({.workers = workers, .steps = steps, .seconds = seconds});
          },
          py::arg("workers"), py::arg("steps"), py::arg("seconds"), Unlocked())
      .def("notice", &ScriptLink::tell_notice, py::arg("key"), py::arg("text"), Unlocked())
      .def("metrics", &report_script_metrics, py::arg("points"), "Of (name, value, step).")
      .def(
          "memory",
          [](ScriptLink& self, std::uint64_t worker_bytes, std::uint64_t limit_bytes,
             std::uint64_t batch, int workers, int pieces, std::uint64_t piece_rows) {
            self.report_memory({.worker_bytes = worker_bytes,
                                .limit_bytes = limit_bytes,
                                .batch = batch,
                                .workers = workers,
                                .pieces = pieces,
                                .piece_rows = piece_rows});
          },
          py::arg("worker_bytes"), py::arg("limit_bytes"), py::arg("batch"), py::arg("workers"),
          py::arg("pieces"), py::arg("piece_rows"), Unlocked())
      .def("plan", &ScriptLink::set_plan, py::arg("steps"), py::arg("steps_per_epoch"), Unlocked())
      .def("write_snapshot", &write_script_snapshot, py::arg("step"), py::arg("state"))
      .def("suspended", &ScriptLink::report_suspended, py::arg("step"), Unlocked())
      .def(
          "finished",
          [](ScriptLink& self, std::uint64_t step, std::uint64_t hash, double loss) {
            self.report_finished({.step = step, .parameter_hash = hash, .loss = loss});
          },
          py::arg("step"), py::arg("hash"), py::arg("loss"), Unlocked());
}

}  // namespace

void bind_script(py::module_& module) {
  py::module_ script = module.def_submodule("script", "The leader of a script job.");
  py::class_<ScriptLink, std::shared_ptr<ScriptLink>> link(
      script, "ScriptLink", "The leader's line to the program that runs its job.");
  link.def_static("connect", &connect_script, py::arg("socket"), py::arg("worker"),
                  py::arg("token"))
      .def("close", &ScriptLink::close, Unlocked())
      .def_property_readonly("descriptors", &ScriptLink::descriptors,
                             "All that the connection has open.")
      .def_property_readonly("thread_id", &ScriptLink::thread_id,
                             "Of the connection's thread, as in /proc/self/task.")
      .def("after_fork", &connect_script_again,
           "For a copy of the leader that takes its place: connects again under its name.");
  bind_orders(link);
  bind_reports(link);
}

}  // namespace rubato::python
