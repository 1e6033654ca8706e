// The module rubato._core.
#include "rubato/runtime/batch_split.h"
#include "rubato/runtime/matrix_speed.h"
#include "worker.h"

PYBIND11_MODULE(_core, module) {
  module.doc() = "The part of Rubato's training runtime that is not Python.";
  module.attr("VIRTUAL_SHARDS") = rubato::kVirtualShards;
  rubato::python::bind_worker(module);
  rubato::python::bind_batches(module);
  module.def("slow_matrix_warning", &rubato::slow_matrix_warning);
}
