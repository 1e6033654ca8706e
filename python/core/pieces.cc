// Optimizer steps in pieces, and what a replica does while it waits, for Python.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "rubato/runtime/split/idle_steps.h"
#include "rubato/runtime/split/piece_queue.h"
#include "rubato/runtime/split/step_table.h"
#include "split.h"

namespace rubato::python {
namespace {

namespace py = pybind11;
namespace split = runtime::split;

using Address = std::uintptr_t;
// Parameter, gradient, first and second state, begin in the areas, floats, settings.
using EntryTuple =
    std::tuple<Address, Address, Address, Address, std::uint64_t, std::uint64_t, std::uint32_t>;

// Between looks at whether a replica is alive that holds a piece.
constexpr std::chrono::microseconds kHolderPatience{20'000};

float* floats_at(Address address) { return reinterpret_cast<float*>(address); }

split::StepKind kind_of(bool is_fused) {
  if (is_fused && split::expected_step_kind() != split::StepKind::Fused) {
    throw py::value_error("this processor has no fused multiplication and addition");
  }
  return is_fused ? split::StepKind::Fused : split::StepKind::Plain;
}

std::vector<split::StepEntry> entries_of(const std::vector<EntryTuple>& tuples) {
  std::vector<split::StepEntry> entries;
  for (const auto& [parameter, gradient, first, second, begin, floats, settings] : tuples) {
    if (settings >= split::kSettingsMax) {
      throw py::value_error("a step has at most " + std::to_string(split::kSettingsMax - 1) +
                            " settings");
    }
    entries.push_back({.parameter = floats_at(parameter),
                       .gradient = floats_at(gradient),
                       .first = floats_at(first),
                       .second = floats_at(second),
                       .area_begin = begin,
                       .floats = floats,
                       .settings = settings});
  }
  return entries;
}

/// A table, and the memory that its pieces lie in if others must see them.
struct OwnedTable {
  py::object memory;
  split::StepTable table;

  OwnedTable(const std::vector<split::StepEntry>& entries, py::object part)
      : memory(std::move(part)), table(entries, pieces_in(memory, entries)) {}

  /// The memory as pieces; raises if it is too small for all of them.
  static std::span<split::StepPiece> pieces_in(const py::object& part,
                                               const std::vector<split::StepEntry>& entries) {
    if (part.is_none()) {
      return {};
    }
    const py::buffer_info buffer = part.cast<py::buffer>().request(/*writable=*/true);
    const auto room =
        static_cast<std::size_t>(buffer.size * buffer.itemsize) / sizeof(split::StepPiece);
    if (room < split::StepTable::piece_count(entries)) {
      throw py::value_error("the memory is too small for the table");
    }
    return {static_cast<split::StepPiece*>(buffer.ptr), room};
  }

  void set_gradients(const std::vector<Address>& gradients) {
    if (gradients.size() != table.entries()) {
      throw py::value_error("expected a gradient for each entry");
    }
    std::vector<float*> pointers;
    for (const Address gradient : gradients) {
      pointers.push_back(floats_at(gradient));
    }
    table.set_gradients(pointers);
  }
};

/// Bytes of the pieces of parameters with so many floats each.
std::size_t table_footprint(const std::vector<std::uint64_t>& floats) {
  std::vector<split::StepEntry> entries;
  for (const std::uint64_t count : floats) {
    entries.push_back({.floats = count});
  }
  return split::StepTable::piece_count(entries) * sizeof(split::StepPiece);
}

void set_parts(split::StepWork& work, std::uint32_t base, const std::vector<Address>& areas,
               bool keeps_gradient) {
  if (areas.size() > split::kPartsMax || base > 2) {
    throw py::value_error("a step adds up at most " + std::to_string(split::kPartsMax) +
                          " parts, to nothing (0), zero (1) or a value (2)");
  }
  work.parts = static_cast<std::uint32_t>(areas.size());
  work.base = static_cast<split::GradientBase>(base);
  work.keeps_gradient = keeps_gradient;
  std::ranges::transform(areas, work.areas.begin(), floats_at);
}

void set_scale(split::StepWork& work, std::optional<float> scale) {
  work.is_scaled = scale.has_value();
  work.scale = scale.value_or(1.0F);
}

split::UpdateSettings& settings_at(split::StepWork& work, std::size_t index) {
  if (index == 0 || index >= split::kSettingsMax) {
    throw py::index_error("no such settings");
  }
  return work.settings[index];
}

void run_alone(const OwnedTable& table, const split::StepWork& work, bool is_fused) {
  const split::StepKind kind = kind_of(is_fused);
  const py::gil_scoped_release unlocked;
  for (const split::StepPiece& piece : table.table.pieces()) {
    split::run_piece(kind, work, piece);
  }
}

/// A queue that keeps its region alive.
struct OwnedQueue {
  std::shared_ptr<split::SharedRegion> region{};
  split::PieceQueue queue;

  OwnedQueue(std::shared_ptr<split::SharedRegion> owner, std::size_t offset)
      : region(std::move(owner)), queue(opened(*region, offset)) {}

  static split::PieceQueue opened(const split::SharedRegion& region, std::size_t offset) {
    const auto found = split::PieceQueue::open(region, offset);
    if (!found) {
      throw py::value_error(found.error().message);
    }
    return *found;
  }

  /// Waits for pieces that replicas hold, and takes over those of dead ones. An exception of
  /// `is_alive` is kept until the step is whole.
  void finish(const py::function& is_alive) {
    std::optional<py::error_already_set> raised;
    while (true) {
      const bool is_whole = [this] {
        const py::gil_scoped_release unlocked;
        return queue.finish(kHolderPatience);
      }();
      if (is_whole) {
        break;
      }
      for (const unsigned rank : queue.holders()) {
        try {
          if (!is_alive(rank).cast<bool>()) {
            queue.recover(rank);
          }
        } catch (py::error_already_set& error) {
          raised.emplace(std::move(error));
        }
      }
    }
    if (raised) {
      throw py::error_already_set(*raised);
    }
  }

  void run(const OwnedTable& table, const split::StepWork& work, bool is_fused,
           const py::list& mailboxes, const py::function& is_alive) {
    const split::StepKind kind = kind_of(is_fused);
    std::vector<split::SharedSignal*> signals;
    for (const py::handle mailbox : mailboxes) {
      signals.push_back(&mailbox_of(mailbox).mailbox->requests().signal());
    }
    std::span<const split::StepPiece> left = table.table.pieces();
    while (!left.empty()) {
      const auto count = std::min<std::size_t>(left.size(), split::kPiecesMax);
      {
        const py::gil_scoped_release unlocked;
        queue.publish(kind, work, left.first(count));
        std::ranges::for_each(signals, [](split::SharedSignal* signal) { signal->raise(); });
        while (queue.do_piece(/*rank=*/0)) {
        }
      }
      finish(is_alive);
      left = left.subspan(count);
    }
  }

  void publish(const OwnedTable& table, const split::StepWork& work, bool is_fused) {
    if (table.table.pieces().size() > split::kPiecesMax) {
      throw py::value_error("too many pieces");
    }
    queue.publish(kind_of(is_fused), work, table.table.pieces());
  }
};

/// Copies arrays of floats to their places behind `to`.
void gather_floats(Address to, const std::vector<std::uint64_t>& begins,
                   const std::vector<Address>& sources, const std::vector<std::uint64_t>& counts) {
  if (begins.size() != sources.size() || counts.size() != sources.size()) {
    throw py::value_error("expected a begin and a count for each source");
  }
  const py::gil_scoped_release unlocked;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::memcpy(floats_at(to) + begins[i], floats_at(sources[i]), counts[i] * sizeof(float));
  }
}

void increment_floats(const std::vector<Address>& addresses) {
  for (const Address address : addresses) {
    *floats_at(address) += 1.0F;
  }
}

/// A replica's wait; true if there is a request or other work.
bool help_until_work(OwnedQueue& owned, const py::object& mailbox, unsigned rank,
                     std::int64_t timeout_us,
                     const std::vector<std::pair<Address, std::uint32_t>>& tickets) {
  if (rank == 0 || rank >= split::kStepRanksMax) {
    throw py::value_error("a replica's rank is between 1 and " +
                          std::to_string(split::kStepRanksMax - 1));
  }
  const MailboxUse use = mailbox_of(mailbox);
  std::vector<split::WorkTicket> watched;
  for (const auto& [address, round] : tickets) {
    watched.push_back({.word = reinterpret_cast<const std::atomic<std::uint64_t>*>(address),
                       .round_declined = round});
  }
  const bool is_there = [&] {
    const py::gil_scoped_release unlocked;
    return split::wait_and_help(use.mailbox->requests(), *use.spin,
                                std::chrono::microseconds(timeout_us), watched, owned.queue, rank);
  }();
  if (!is_there && PyErr_CheckSignals() != 0) {
    throw py::error_already_set();
  }
  return is_there;
}

void bind_work(py::module_& module) {
  py::class_<split::StepWork>(module, "StepWork", "What a step does with all of its pieces.")
      .def(py::init<>())
      .def("set_parts", &set_parts, py::arg("base"), py::arg("areas"),
           py::arg("keeps_gradient") = true,
           "Adds up gradients at these addresses, and adds that to nothing (0), zero (1) or the "
           "gradient as it is (2). No areas: the gradient is taken as it is. The sum goes to the "
           "gradient's memory, or is used for the update alone.")
      .def("set_scale", &set_scale, py::arg("scale"),
           "Multiplies gradients by this; None: does not.")
      .def(
          "set_sgd",
          [](split::StepWork& work, std::size_t index, double rate, double momentum,
             double dampening, double weight_decay, bool nesterov) {
            settings_at(work, index) =
                split::update_settings(split::SgdOptions{.rate = rate,
                                                         .momentum = momentum,
                                                         .dampening = dampening,
                                                         .weight_decay = weight_decay,
                                                         .is_nesterov = nesterov});
          },
          py::arg("index"), py::arg("lr"), py::arg("momentum"), py::arg("dampening"),
          py::arg("weight_decay"), py::arg("nesterov"))
      .def(
          "set_adam",
          [](split::StepWork& work, std::size_t index, double rate,
             const std::pair<double, double>& betas, double epsilon, double weight_decay,
             double step, bool is_decoupled) {
            settings_at(work, index) =
                split::update_settings(split::AdamOptions{.rate = rate,
                                                          .beta1 = betas.first,
                                                          .beta2 = betas.second,
                                                          .epsilon = epsilon,
                                                          .weight_decay = weight_decay,
                                                          .step = step,
                                                          .is_decoupled = is_decoupled});
          },
          py::arg("index"), py::arg("lr"), py::arg("betas"), py::arg("eps"),
          py::arg("weight_decay"), py::arg("step"), py::arg("is_decoupled"))
      .def("clear_settings",
           [](split::StepWork& work) { work.settings.fill(split::UpdateSettings{}); });
}

}  // namespace

void bind_pieces(py::module_& module) {
  module.attr("PIECE_FLOATS") = split::kPieceFloats;
  module.attr("SETTINGS_MAX") = split::kSettingsMax - 1;
  module.attr("PARTS_MAX") = split::kPartsMax;
  module.def(
      "has_fused_step", [] { return split::expected_step_kind() == split::StepKind::Fused; },
      "Whether the processor multiplies and adds with one rounding.");
  module.def("gather_floats", &gather_floats, py::arg("to"), py::arg("begins"), py::arg("sources"),
             py::arg("counts"), "Copies arrays of floats to their places behind an address.");
  module.def("increment_floats", &increment_floats, py::arg("addresses"));
  bind_work(module);
  py::class_<OwnedTable>(module, "StepTable",
                         "Parameters of a step, cut into pieces; in shared memory if others help.")
      .def(py::init([](const std::vector<EntryTuple>& entries, py::object memory) {
             return std::make_unique<OwnedTable>(entries_of(entries), std::move(memory));
           }),
           py::arg("entries"), py::arg("memory") = py::none())
      .def_static("footprint", &table_footprint, py::arg("floats"))
      .def("set_gradients", &OwnedTable::set_gradients, py::arg("addresses"),
           "Other gradients; entries with address 0 are left alone.")
      .def("run_alone", &run_alone, py::arg("work"), py::arg("is_fused"))
      .def_property_readonly("pieces",
                             [](const OwnedTable& self) { return self.table.pieces().size(); })
      .def_property_readonly("floats", [](const OwnedTable& self) { return self.table.floats(); });
  py::class_<OwnedQueue>(module, "PieceQueue", "Steps that the leader and idle replicas share.")
      .def(py::init<std::shared_ptr<split::SharedRegion>, std::size_t>(), py::arg("region"),
           py::arg("offset"))
      .def_static("footprint", &split::PieceQueue::footprint)
      .def("run", &OwnedQueue::run, py::arg("table"), py::arg("work"), py::arg("is_fused"),
           py::arg("mailboxes"), py::arg("is_alive"),
           "The whole step, helped by the replicas of these mailboxes. `is_alive(rank)` is asked "
           "about those that are slow; pieces of dead ones are put back and done again.")
      .def("publish", &OwnedQueue::publish, py::arg("table"), py::arg("work"), py::arg("is_fused"))
      .def(
          "do_piece", [](OwnedQueue& self, unsigned rank) { return self.queue.do_piece(rank); },
          py::arg("rank"), py::call_guard<py::gil_scoped_release>())
      .def("finish", &OwnedQueue::finish, py::arg("is_alive"))
      .def("help_until_work", &help_until_work, py::arg("mailbox"), py::arg("rank"),
           py::arg("timeout_us"),
           py::arg("tickets") = std::vector<std::pair<Address, std::uint32_t>>{},
           "A replica's wait, in which it does pieces. True if there is a request, or work of one "
           "of the tickets: addresses, each with a round to pass by.");
}

}  // namespace rubato::python
