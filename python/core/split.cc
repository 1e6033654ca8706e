#include "split.h"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "rubato/runtime/split/exchange.h"
#include "rubato/runtime/split/idle_wait.h"
#include "rubato/runtime/split/mailbox.h"
#include "rubato/runtime/split/shared_region.h"

namespace rubato::python {
namespace {

namespace py = pybind11;
namespace split = runtime::split;

using RegionOwner = std::shared_ptr<split::SharedRegion>;
using std::chrono::microseconds;

/// Turns an error into what Python raises.
template <typename T>
T value_or_memory_error(Result<T> result) {
  if (!result) {
    const Error& error = result.error();
    PyErr_SetString(error.code == ErrorCode::Io ? PyExc_MemoryError : PyExc_ValueError,
                    error.message.c_str());
    throw py::error_already_set();
  }
  return std::move(result).value();
}

/// After a wait in vain: if a signal's handler is due, it runs now and may raise.
void run_signal_handlers() {
  if (PyErr_CheckSignals() != 0) {
    throw py::error_already_set();
  }
}

std::span<const std::byte> bytes_of(const py::buffer_info& buffer) {
  if (PyBuffer_IsContiguous(buffer.view(), 'C') == 0) {
    throw py::value_error("expected a contiguous buffer");
  }
  return {static_cast<const std::byte*>(buffer.ptr),
          static_cast<std::size_t>(buffer.size * buffer.itemsize)};
}

RegionOwner make_region(std::size_t bytes, int descriptor) {
  return std::make_shared<split::SharedRegion>(
      value_or_memory_error(split::SharedRegion::map(descriptor, bytes)));
}

py::buffer_info region_buffer(split::SharedRegion& region) {
  return {region.address(), 1, "B", 1, {static_cast<py::ssize_t>(region.size())}, {1}};
}

/// A part of a region with an owner of its own: while a tensor in it lives, so does this.
struct RegionPart {
  RegionOwner region{};
  std::size_t offset = 0;
  std::size_t bytes = 0;

  [[nodiscard]] std::byte* address() const { return region->address() + offset; }
};

RegionPart part_of(RegionOwner region, std::size_t offset, std::size_t bytes) {
  value_or_memory_error(region->part(offset, bytes, 1, "a part of the region"));
  return {.region = std::move(region), .offset = offset, .bytes = bytes};
}

py::buffer_info part_buffer(RegionPart& part) {
  return {part.address(), 1, "B", 1, {static_cast<py::ssize_t>(part.bytes)}, {1}};
}

/// A mailbox that keeps its region alive.
struct OwnedMailbox {
  RegionOwner region{};
  split::Mailbox mailbox;
  split::SpinBudget request_spin{};
  split::SpinBudget reply_spin{};

  OwnedMailbox(RegionOwner owner, std::size_t offset, std::size_t capacity)
      : region(std::move(owner)),
        mailbox(value_or_memory_error(split::Mailbox::open(*region, offset, capacity))) {}

  void send(split::MessageQueue& queue, const py::buffer& message) const {
    const py::buffer_info buffer = message.request();
    value_or_memory_error(queue.send(bytes_of(buffer)));
  }

  /// The next message, or None if none came in time.
  static py::object receive(split::MessageQueue& queue, split::SpinBudget& budget,
                            std::int64_t timeout_us) {
    bool is_there = queue.has_message();
    if (!is_there && timeout_us > 0) {
      const py::gil_scoped_release unlocked;
      is_there = budget.wait([&](microseconds spin) {
        return queue.wait({.spin = spin, .timeout = microseconds(timeout_us)});
      });
    }
    if (!is_there) {
      run_signal_handlers();
      return py::none();
    }
    const std::size_t size = queue.next_size();
    auto message = py::reinterpret_steal<py::bytes>(
        PyBytes_FromStringAndSize(nullptr, static_cast<py::ssize_t>(size)));
    if (!message) {
      throw py::error_already_set();
    }
    queue.take({reinterpret_cast<std::byte*>(PyBytes_AS_STRING(message.ptr())), size});
    return message;
  }
};

/// The next request, or None if there is work or none came in time.
py::object wait_request_or_work(
    OwnedMailbox& owned, std::int64_t timeout_us,
    const std::vector<std::pair<std::uintptr_t, std::uint32_t>>& tickets) {
  std::vector<split::WorkTicket> watched;
  for (const auto& [address, round_declined] : tickets) {
    watched.push_back({.word = reinterpret_cast<const std::atomic<std::uint64_t>*>(address),
                       .round_declined = round_declined});
  }
  {
    const py::gil_scoped_release unlocked;
    owned.request_spin.wait([&](microseconds spin) {
      return split::wait_for_request_or_work(
          owned.mailbox.requests(), {.spin = spin, .timeout = microseconds(timeout_us)}, watched);
    });
  }
  return OwnedMailbox::receive(owned.mailbox.requests(), owned.request_spin, 0);
}

/// An exchange that keeps its region alive.
struct OwnedExchange {
  RegionOwner region{};
  split::Exchange exchange;

  OwnedExchange(RegionOwner owner, std::size_t offset, unsigned ranks_max, std::size_t numbers_max)
      : region(std::move(owner)),
        exchange(
            value_or_memory_error(split::Exchange::open(*region, offset, ranks_max, numbers_max))) {
  }

  int all_gather(const py::buffer& vector, const split::ExchangeTurn& turn,
                 std::int64_t timeout_us) {
    const py::buffer_info buffer = vector.request();
    const std::span<const std::byte> bytes = bytes_of(buffer);
    auto outcome = [&] {
      const py::gil_scoped_release unlocked;
      return exchange.all_gather(bytes, turn, microseconds(timeout_us));
    }();
    const split::ExchangeOutcome known = value_or_memory_error(std::move(outcome));
    if (known == split::ExchangeOutcome::TimedOut) {
      run_signal_handlers();
    }
    return static_cast<int>(known);
  }
};

void bind_region(py::module_& module) {
  py::class_<split::SharedRegion, RegionOwner>(
      module, "Region", py::buffer_protocol(),
      "Memory that processes share: forks, or all that map the same file. Untouched pages cost "
      "nothing.")
      .def(py::init(&make_region), py::arg("bytes"), py::arg("descriptor") = -1)
      .def_buffer(&region_buffer)
      .def_property_readonly("size", &split::SharedRegion::size)
      .def_property_readonly("address",
                             [](const split::SharedRegion& region) {
                               return reinterpret_cast<std::uintptr_t>(region.address());
                             })
      .def(
          "discard",
          [](const split::SharedRegion& region, std::size_t offset, std::size_t bytes) {
            value_or_memory_error(region.discard(offset, bytes));
          },
          py::arg("offset"), py::arg("bytes"),
          "Gives the whole pages in this range back to the system; they read as zeros afterwards.")
      .def("part", &part_of, py::arg("offset"), py::arg("bytes"),
           "A buffer that lives as long as any tensor made of it.");
  py::class_<RegionPart>(module, "RegionPart", py::buffer_protocol(), "A part of a region.")
      .def_buffer(&part_buffer)
      .def_readonly("offset", &RegionPart::offset)
      .def_readonly("size", &RegionPart::bytes)
      .def_property_readonly("address", [](const RegionPart& part) {
        return reinterpret_cast<std::uintptr_t>(part.address());
      });
}

void bind_mailbox(py::module_& module) {
  py::class_<OwnedMailbox>(module, "Mailbox",
                           "Requests from the leader to one replica, and its replies.")
      .def(py::init<RegionOwner, std::size_t, std::size_t>(), py::arg("region"), py::arg("offset"),
           py::arg("capacity"))
      .def_static("footprint", &split::Mailbox::footprint, py::arg("capacity"),
                  "Bytes of the region that a mailbox takes.")
      .def(
          "reset", [](OwnedMailbox& self) { self.mailbox.reset(); },
          "Empties it. Only while no other process uses it.")
      .def(
          "request",
          [](OwnedMailbox& self, const py::buffer& message) {
            self.send(self.mailbox.requests(), message);
          },
          py::arg("message"))
      .def(
          "wait_reply",
          [](OwnedMailbox& self, std::int64_t timeout_us) {
            return OwnedMailbox::receive(self.mailbox.replies(), self.reply_spin, timeout_us);
          },
          py::arg("timeout_us"), "The next reply, or None if none came in time.")
      .def(
          "wait_request",
          [](OwnedMailbox& self, std::int64_t timeout_us) {
            return OwnedMailbox::receive(self.mailbox.requests(), self.request_spin, timeout_us);
          },
          py::arg("timeout_us"), "The next request, or None if none came in time.")
      .def("wait_request_or_work", &wait_request_or_work, py::arg("timeout_us"), py::arg("tickets"),
           "The same, but ends as well when there is work. A ticket is the address of its word and "
           "a round to pass by.")
      .def(
          "wake", [](OwnedMailbox& self) { self.mailbox.requests().signal().raise(); },
          "Makes the replica look for work.")
      .def(
          "reply",
          [](OwnedMailbox& self, const py::buffer& message) {
            self.send(self.mailbox.replies(), message);
          },
          py::arg("message"))
      .def_property_readonly("capacity",
                             [](const OwnedMailbox& self) { return self.mailbox.capacity(); });
}

void bind_exchange(py::module_& module) {
  py::class_<OwnedExchange>(module, "Exchange",
                            "Short vectors that the ranks of one call show each other.")
      .def(py::init<RegionOwner, std::size_t, unsigned, std::size_t>(), py::arg("region"),
           py::arg("offset"), py::arg("ranks_max"), py::arg("numbers_max"))
      .def_static("footprint", &split::Exchange::footprint, py::arg("ranks_max"),
                  py::arg("numbers_max"), "Numbers may have up to eight bytes.")
      .def(
          "all_gather",
          [](OwnedExchange& self, const py::buffer& vector, unsigned rank, unsigned ranks,
             std::uint32_t sequence, std::uint32_t generation, std::int64_t timeout_us) {
            return self.all_gather(
                vector,
                {.rank = rank, .ranks = ranks, .sequence = sequence, .generation = generation},
                timeout_us);
          },
          py::arg("vector"), py::arg("rank"), py::arg("ranks"), py::arg("sequence"),
          py::arg("generation"), py::arg("timeout_us"),
          "0: all vectors are there; 1: not in time (may be called again); 2: aborted.")
      .def(
          "abort",
          [](OwnedExchange& self, std::uint32_t generation) { self.exchange.abort(generation); },
          py::arg("generation"), "Ends the turns of this generation and of all before it.")
      .def(
          "slot_offset",
          [](const OwnedExchange& self, unsigned rank, std::uint32_t sequence) {
            return value_or_memory_error(self.exchange.slot_offset(rank, sequence));
          },
          py::arg("rank"), py::arg("sequence"),
          "Where in the region a rank's vector of this turn lies.");
}

}  // namespace

MailboxUse mailbox_of(const py::handle& object) {
  auto& owned = object.cast<OwnedMailbox&>();
  return {.mailbox = &owned.mailbox, .spin = &owned.request_spin};
}

void bind_split(py::module_& module) {
  py::module_ split_module = module.def_submodule("split", "What a leader and its replicas share.");
  bind_region(split_module);
  bind_mailbox(split_module);
  bind_exchange(split_module);
  bind_dict_tags(split_module);
  bind_pieces(split_module);
  bind_row_queue(split_module);
}

}  // namespace rubato::python
