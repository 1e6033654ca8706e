// Whether dictionaries have changed, told by CPython's version tags: every change of a dictionary
// gives it a new tag, so unchanged ones are recognized without looking into them.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "split.h"

namespace rubato::python {
namespace {

namespace py = pybind11;

// Tags came with CPython 3.6 and went with 3.13.
#if PY_VERSION_HEX < 0x030D0000 && !defined(PYPY_VERSION)
constexpr bool kHasVersionTags = true;

std::uint64_t version_tag(PyObject* dict) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
}
#else
constexpr bool kHasVersionTags = false;

std::uint64_t version_tag(PyObject*) { return 0; }
#endif

/// The dictionaries, which it keeps alive, and their tags.
class DictTags {
 public:
  explicit DictTags(const py::iterable& dicts) {
    for (const py::handle item : dicts) {
      if (PyDict_Check(item.ptr()) == 0) {
        throw py::type_error("expected dictionaries only");
      }
      dicts_.push_back(py::reinterpret_borrow<py::object>(item));
    }
    renew();
  }

  [[nodiscard]] bool unchanged() const {
    return kHasVersionTags && std::equal(dicts_.begin(), dicts_.end(), tags_.begin(), tags_.end(),
                                         [](const py::object& dict, std::uint64_t tag) {
                                           return version_tag(dict.ptr()) == tag;
                                         });
  }

  void renew() {
    tags_.clear();
    for (const py::object& dict : dicts_) {
      tags_.push_back(version_tag(dict.ptr()));
    }
  }

  [[nodiscard]] std::size_t size() const { return dicts_.size(); }
  [[nodiscard]] const std::vector<py::object>& dicts() const { return dicts_; }
  void clear() {
    tags_.clear();
    std::exchange(dicts_, {});
  }

 private:
  std::vector<py::object> dicts_{};
  std::vector<std::uint64_t> tags_{};
};

/// The object behind a Python object; nothing while its constructor runs, when the collector may
/// come by already.
DictTags* constructed_tags(PyObject* self) {
  const auto value = reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder();
  return value.holder_constructed() ? value.value_ptr<DictTags>() : nullptr;
}

int visit_dicts(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (const DictTags* const tags = constructed_tags(self)) {
    for (const py::object& dict : tags->dicts()) {
      Py_VISIT(dict.ptr());
    }
  }
  return 0;
}

int clear_dicts(PyObject* self) {
  if (DictTags* const tags = constructed_tags(self)) {
    tags->clear();
  }
  return 0;
}

/// Lets the garbage collector see the dictionaries, some of which lead back here.
void collect_cycles(PyHeapTypeObject* type) {
  type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->ht_type.tp_traverse = visit_dicts;
  type->ht_type.tp_clear = clear_dicts;
}

}  // namespace

void bind_dict_tags(py::module_& split) {
  py::class_<DictTags>(split, "DictTags", py::custom_type_setup(collect_cycles),
                       "Tells whether any of some dictionaries has changed.")
      .def(py::init<const py::iterable&>(), py::arg("dicts"))
      .def("unchanged", &DictTags::unchanged,
           "True if none has changed since the last renew(); never true if not supported.")
      .def("renew", &DictTags::renew)
      .def("__len__", &DictTags::size)
      .def_property_readonly_static("supported", [](const py::object&) { return kHasVersionTags; });
}

}  // namespace rubato::python
