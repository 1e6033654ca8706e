// The submodule rubato._core.split: what a leader and its replicas share.
#pragma once

#include <pybind11/pybind11.h>

#include "rubato/runtime/split/mailbox.h"
#include "rubato/runtime/split/spin_budget.h"

namespace rubato::python {

void bind_split(pybind11::module_& module);
void bind_dict_tags(pybind11::module_& split);
void bind_pieces(pybind11::module_& split);

/// The mailbox behind a Python object, and how long its replica may spin.
struct MailboxUse {
  runtime::split::Mailbox* mailbox = nullptr;
  runtime::split::SpinBudget* spin = nullptr;
};
[[nodiscard]] MailboxUse mailbox_of(const pybind11::handle& object);
void bind_row_queue(pybind11::module_& split);

}  // namespace rubato::python
