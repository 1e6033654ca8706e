// The functions of NCCL and of the CUDA runtime that we call, found when the program runs: neither
// is needed to build it, nor to run it without GPUs. Types repeat what their headers say.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "rubato/base/result.h"

namespace rubato {

struct NcclComm;    // Opaque: what ncclComm_t points to.
struct CudaStream;  // Opaque: what cudaStream_t points to.

/// What rank 0 makes and everyone needs in order to join.
struct NcclUniqueId {
  std::array<char, 128> bytes{};
};

// Values of ncclResult_t, ncclDataType_t, ncclRedOp_t, ncclScalarResidence_t, cudaError_t and
// cudaMemcpyKind.
constexpr int kNcclSuccess = 0;
constexpr int kNcclInProgress = 7;
constexpr int kNcclUint8 = 1;
constexpr int kNcclUint64 = 5;
constexpr int kNcclFloat32 = 7;
constexpr int kNcclSum = 0;
constexpr int kNcclScalarOnHost = 1;
constexpr int kCudaSuccess = 0;
constexpr int kCudaNotReady = 600;
constexpr int kCudaHostToDevice = 1;
constexpr int kCudaDeviceToHost = 2;

/// Where the libraries are; plain names are searched for by the system.
struct NcclPaths {
  std::string nccl = "libnccl.so.2";
  std::string cudart = "libcudart.so";
};

/// The functions. Valid for as long as the table, or a copy of it, lives.
struct NcclTable {
  int (*get_unique_id)(NcclUniqueId*) = nullptr;
  int (*comm_init_rank)(NcclComm**, int, NcclUniqueId, int) = nullptr;
  int (*comm_destroy)(NcclComm*) = nullptr;
  int (*comm_abort)(NcclComm*) = nullptr;
  int (*comm_get_async_error)(NcclComm*, int*) = nullptr;
  int (*group_start)() = nullptr;
  int (*group_end)() = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, NcclComm*, CudaStream*) = nullptr;
  int (*broadcast)(const void*, void*, std::size_t, int, int, NcclComm*, CudaStream*) = nullptr;
  int (*red_op_create_pre_mul_sum)(int*, void*, int, int, NcclComm*) = nullptr;
  int (*red_op_destroy)(int, NcclComm*) = nullptr;
  const char* (*get_error_string)(int) = nullptr;

  int (*set_device)(int) = nullptr;
  int (*stream_create)(CudaStream**) = nullptr;
  int (*stream_destroy)(CudaStream*) = nullptr;
  int (*stream_query)(CudaStream*) = nullptr;
  int (*allocate)(void**, std::size_t) = nullptr;
  int (*release)(void*) = nullptr;
  int (*copy_async)(void*, const void*, std::size_t, int, CudaStream*) = nullptr;
  int (*fill_async)(void*, int, std::size_t, CudaStream*) = nullptr;
  const char* (*get_cuda_error_string)(int) = nullptr;

  // Shared by copies of the table; the last one unloads them.
  std::shared_ptr<void> nccl_library{};
  std::shared_ptr<void> cudart_library{};
};

/// Loads both libraries; an error names the one, or the function, that is missing.
[[nodiscard]] Result<NcclTable> load_nccl(const NcclPaths& paths = {});

}  // namespace rubato
