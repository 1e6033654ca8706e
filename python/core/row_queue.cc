// Rows of the next batch for Python: who fetches which, where they lie, and what they came from.
#include "rubato/runtime/split/row_queue.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <unistd.h>
#include <utility>
#include <vector>

#include <pybind11/stl.h>

#include "rubato/runtime/split/batch_memory.h"
#include "split.h"

namespace rubato::python {
namespace {

namespace py = pybind11;
namespace split = runtime::split;

using RegionOwner = std::shared_ptr<split::SharedRegion>;

template <typename T>
T rows_or_raise(Result<T> result) {
  if (!result) {
    const Error& error = result.error();
    PyErr_SetString(error.code == ErrorCode::Io ? PyExc_MemoryError : PyExc_ValueError,
                    error.message.c_str());
    throw py::error_already_set();
  }
  return std::move(result).value();
}

/// The owner's name in the queue. Asked for each time, since a fork changes it.
std::uint32_t this_process() { return static_cast<std::uint32_t>(getpid()); }

/// A queue that keeps its region alive.
struct OwnedRowQueue {
  RegionOwner region{};
  split::RowQueue queue;

  OwnedRowQueue(RegionOwner owner, std::size_t offset)
      : region(std::move(owner)), queue(rows_or_raise(split::RowQueue::open(*region, offset))) {}

  bool start(std::uint32_t total) {
    if (total == 0 || total > split::kRowChunksMax) {
      throw py::value_error("a round has between 1 and " + std::to_string(split::kRowChunksMax) +
                            " chunks, not " + std::to_string(total));
    }
    return queue.start(total);
  }

  [[nodiscard]] std::int64_t take() {
    const auto chunk = queue.take(this_process());
    return chunk ? std::int64_t{*chunk} : -1;
  }

  [[nodiscard]] bool wait_all(std::int64_t timeout_us) const {
    const bool is_complete = [&] {
      const py::gil_scoped_release unlocked;
      return queue.wait_all(std::chrono::microseconds(timeout_us));
    }();
    if (!is_complete && PyErr_CheckSignals() != 0) {
      throw py::error_already_set();
    }
    return is_complete;
  }

  [[nodiscard]] std::vector<std::pair<std::uint32_t, std::uint32_t>> held() const {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> chunks;
    for (const split::HeldChunk& held : queue.held()) {
      chunks.emplace_back(held.chunk, held.owner);
    }
    return chunks;
  }
};

void bind_queue(py::module_& module) {
  py::class_<OwnedRowQueue>(module, "RowQueue", "Chunks of rows, for whoever has time for them.")
      .def(py::init<RegionOwner, std::size_t>(), py::arg("region"), py::arg("offset"))
      .def_static("footprint", &split::RowQueue::footprint)
      .def_property_readonly_static("CHUNKS_MAX",
                                    [](const py::object&) { return split::kRowChunksMax; })
      .def("start", &OwnedRowQueue::start, py::arg("total"),
           "False if a process still holds a chunk of the last round.")
      .def("stop", [](OwnedRowQueue& self) { self.queue.stop(); })
      .def("take", &OwnedRowQueue::take, "The chunk that is now this process's, or -1.")
      .def("done", [](OwnedRowQueue& held,
                      std::uint32_t chunk) { return held.queue.done(chunk, this_process()); })
      .def("fail", [](OwnedRowQueue& held,
                      std::uint32_t chunk) { return held.queue.fail(chunk, this_process()); })
      .def("wait_all", &OwnedRowQueue::wait_all, py::arg("timeout_us"))
      .def("held", &OwnedRowQueue::held, "Pairs of chunk and process id.")
      .def(
          "reclaim",
          [](OwnedRowQueue& held, std::uint32_t owner) {
            return held.queue.reclaim(owner, this_process());
          },
          py::arg("owner"), "The chunks of a dead process, which are now this process's.")
      .def_property_readonly("failed",
                             [](const OwnedRowQueue& self) { return self.queue.failed(); })
      .def_property_readonly("has_work",
                             [](const OwnedRowQueue& self) { return self.queue.has_work(); })
      .def_property_readonly("sequence",
                             [](const OwnedRowQueue& self) { return self.queue.sequence(); })
      .def_property_readonly(
          "ticket_address",
          [](const OwnedRowQueue& self) {
            return reinterpret_cast<std::uintptr_t>(self.queue.ticket());
          },
          "A 64-bit word; there is work if its lower half is less than the 32-bit word behind it.");
}

py::buffer_info batch_buffer(split::BatchMemory& batch) {
  const auto size = static_cast<py::ssize_t>(batch.bytes().size());
  return {batch.bytes().data(), 1, "B", 1, {size}, {1}};
}

void make_private(split::BatchMemory& batch, const py::buffer& contents) {
  const py::buffer_info buffer = contents.request();
  rows_or_raise(batch.make_private({static_cast<const std::byte*>(buffer.ptr),
                                    static_cast<std::size_t>(buffer.size * buffer.itemsize)}));
}

void bind_batch_memory(py::module_& module) {
  py::class_<split::BatchMemory>(module, "BatchMemory", py::buffer_protocol(),
                                 "Pages of a region, mapped once more for the script's tensors.")
      .def(py::init([](const split::SharedRegion& region, std::size_t offset, std::size_t bytes) {
             return std::make_unique<split::BatchMemory>(
                 rows_or_raise(split::BatchMemory::open(region, offset, bytes)));
           }),
           py::arg("region"), py::arg("offset"), py::arg("bytes"))
      .def_buffer(&batch_buffer)
      .def_property_readonly_static(
          "PAGE_BYTES", [](const py::object&) { return split::BatchMemory::page_bytes(); })
      .def_property_readonly("address",
                             [](const split::BatchMemory& batch) {
                               return reinterpret_cast<std::uintptr_t>(batch.bytes().data());
                             })
      .def("make_private", &make_private, py::arg("contents"),
           "In a forked process: private pages with these contents at the same address.");
}

/// Lists and what they held. The copies keep the items alive, so the same address is the same item.
class ListItems {
 public:
  explicit ListItems(const py::iterable& lists) {
    for (const py::handle item : lists) {
      if (PyList_CheckExact(item.ptr()) == 0) {
        throw py::type_error("expected lists only");
      }
      auto list = py::reinterpret_borrow<py::list>(item);
      copies_.emplace_back(list, py::tuple(list));
    }
  }

  [[nodiscard]] bool unchanged() const {
    return std::ranges::all_of(copies_, [](const std::pair<py::list, py::tuple>& pair) {
      const auto* const list = reinterpret_cast<PyListObject*>(pair.first.ptr());
      const auto* const copy = reinterpret_cast<PyTupleObject*>(pair.second.ptr());
      return Py_SIZE(list) == Py_SIZE(copy) &&
             std::equal(list->ob_item, list->ob_item + Py_SIZE(list), copy->ob_item);
    });
  }

 private:
  std::vector<std::pair<py::list, py::tuple>> copies_{};
};

void bind_list_items(py::module_& module) {
  py::class_<ListItems>(module, "ListItems", "Tells whether any of some lists has changed.")
      .def(py::init<const py::iterable&>(), py::arg("lists"))
      .def("unchanged", &ListItems::unchanged, "True if each holds the same objects as at first.");
}

}  // namespace

void bind_row_queue(py::module_& split_module) {
  bind_queue(split_module);
  bind_batch_memory(split_module);
  bind_list_items(split_module);
}

}  // namespace rubato::python
