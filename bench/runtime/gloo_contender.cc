#include <vector>

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "bench/runtime/contender.h"

namespace rubato {
namespace {

class GlooContender final : public Contender {
 public:
  explicit GlooContender(const BenchCrew& crew)
      : values_(at::zeros(static_cast<std::int64_t>(crew.floats_max))) {
    auto options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
    options->threads = 2;
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::FileStore>(fmt::format("{}/gloo", crew.directory), crew.size),
        crew.rank, crew.size, options);
  }

  [[nodiscard]] std::string name() const override { return "gloo"; }

  [[nodiscard]] bool all_reduce(std::size_t floats) override {
    std::vector<at::Tensor> tensors{values_.narrow(0, 0, static_cast<std::int64_t>(floats))};
    return group_->allreduce(tensors)->wait();
  }

 private:
  at::Tensor values_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_{};
};

}  // namespace

std::unique_ptr<Contender> make_gloo_contender(const BenchCrew& crew) {
  return std::make_unique<GlooContender>(crew);
}

}  // namespace rubato
