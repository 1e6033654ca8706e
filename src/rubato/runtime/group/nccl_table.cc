#include "rubato/runtime/group/nccl_table.h"

#include <dlfcn.h>

#include <fmt/format.h>

namespace rubato {
namespace {

Error not_found(const std::string& what) {
  const char* const why = dlerror();
  return Error{.code = ErrorCode::NotFound,
               .message = fmt::format("{}: {}", what, why == nullptr ? "not found" : why)};
}

Result<std::shared_ptr<void>> opened(const std::string& path) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    return not_found(path);
  }
  return std::shared_ptr<void>(handle, [](void* library) { dlclose(library); });
}

/// Looks functions up one after the other; after the first that is missing, does nothing.
class SymbolReader {
 public:
  SymbolReader(std::string path, void* library) : path_(std::move(path)), library_(library) {}

  template <typename Function>
  SymbolReader& read(const char* name, Function*& function) {
    if (status_.ok()) {
      function = reinterpret_cast<Function*>(dlsym(library_, name));
      if (function == nullptr) {
        status_ = not_found(fmt::format("{}: {}", path_, name));
      }
    }
    return *this;
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  std::string path_;
  void* library_;
  Status status_ = ok_status();
};

}  // namespace

Result<NcclTable> load_nccl(const NcclPaths& paths) {
  NcclTable table;
  Result<std::shared_ptr<void>> cudart = opened(paths.cudart);
  if (!cudart) {
    return cudart.error();
  }
  Result<std::shared_ptr<void>> nccl = opened(paths.nccl);
  if (!nccl) {
    return nccl.error();
  }
  table.cudart_library = *cudart;
  table.nccl_library = *nccl;

  SymbolReader from_nccl(paths.nccl, nccl->get());
  from_nccl.read("ncclGetUniqueId", table.get_unique_id)
      .read("ncclCommInitRank", table.comm_init_rank)
      .read("ncclCommDestroy", table.comm_destroy)
      .read("ncclCommAbort", table.comm_abort)
      .read("ncclCommGetAsyncError", table.comm_get_async_error)
      .read("ncclGroupStart", table.group_start)
      .read("ncclGroupEnd", table.group_end)
      .read("ncclAllReduce", table.all_reduce)
      .read("ncclBroadcast", table.broadcast)
      .read("ncclRedOpCreatePreMulSum", table.red_op_create_pre_mul_sum)
      .read("ncclRedOpDestroy", table.red_op_destroy)
      .read("ncclGetErrorString", table.get_error_string);
  if (!from_nccl.status()) {
    return from_nccl.status().error();
  }
  SymbolReader from_cudart(paths.cudart, cudart->get());
  from_cudart.read("cudaSetDevice", table.set_device)
      .read("cudaStreamCreate", table.stream_create)
      .read("cudaStreamDestroy", table.stream_destroy)
      .read("cudaStreamQuery", table.stream_query)
      .read("cudaMalloc", table.allocate)
      .read("cudaFree", table.release)
      .read("cudaMemcpyAsync", table.copy_async)
      .read("cudaMemsetAsync", table.fill_async)
      .read("cudaGetErrorString", table.get_cuda_error_string);
  if (!from_cudart.status()) {
    return from_cudart.status().error();
  }
  return table;
}

}  // namespace rubato
