// The leader of a script job as Python sees its line to the program that runs the job.
#pragma once

#include <pybind11/pybind11.h>

namespace rubato::python {

/// Adds the submodule `script`.
void bind_script(pybind11::module_& module);

}  // namespace rubato::python
