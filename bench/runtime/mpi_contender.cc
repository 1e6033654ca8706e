#include <mpi.h>
#include <vector>

#include "bench/runtime/contender.h"

namespace rubato {
namespace {

class MpiContender final : public Contender {
 public:
  explicit MpiContender(std::size_t floats) : values_(floats) {}

  ~MpiContender() override { MPI_Finalize(); }

  [[nodiscard]] std::string name() const override { return "openmpi"; }

  [[nodiscard]] bool all_reduce(std::size_t floats) override {
    return MPI_Allreduce(MPI_IN_PLACE, values_.data(), static_cast<int>(floats), MPI_FLOAT, MPI_SUM,
                         MPI_COMM_WORLD) == MPI_SUCCESS;
  }

 private:
  std::vector<float> values_;
};

}  // namespace

std::unique_ptr<Contender> make_mpi_contender(BenchCrew& crew) {
  MPI_Init(nullptr, nullptr);
  MPI_Comm_rank(MPI_COMM_WORLD, &crew.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &crew.size);
  return std::make_unique<MpiContender>(crew.floats_max);
}

}  // namespace rubato
