// The module rubato._core.
#include "rubato/runtime/data/batch_split.h"
#include "rubato/runtime/machine/kept_memory.h"
#include "rubato/runtime/machine/matrix_speed.h"
#include "script.h"
#include "split.h"
#include "worker.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The part of Rubato's training runtime that is not Python.";
  module.attr("VIRTUAL_SHARDS") = rubato::kVirtualShards;
  rubato::python::bind_worker(module);
  rubato::python::bind_batches(module);
  rubato::python::bind_script(module);
  rubato::python::bind_split(module);
  module.def("slow_matrix_warning", &rubato::slow_matrix_warning);
  module.def("keep_freed_memory", &rubato::keep_freed_memory,
             "Keeps what a step frees for the next one; False if the environment says otherwise.");
}
