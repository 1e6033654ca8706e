// How a pretended device computes: the host's operator runs on the bytes in the device's window.

#pragma once

#include <vector>

namespace at {
class Tensor;
}
namespace c10 {
class OperatorHandle;
struct IValue;
}  // namespace c10

namespace rubato::runtime::testing {

/// A kernel: takes an operator's arguments from the stack and leaves its results there. Whatever
/// the host's operator writes, marked as written or not, is written to the device's memory.
void run_kernel(const c10::OperatorHandle& op, std::vector<c10::IValue>* stack);

/// A host tensor on the bytes of a device's tensor, which must outlive it.
at::Tensor window_tensor(const at::Tensor& tensor);

}  // namespace rubato::runtime::testing
