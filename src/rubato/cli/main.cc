#include <string>
#include <vector>

#include "rubato/cli/program.h"

int main(int count, char** arguments) {
  return rubato::run_program(std::vector<std::string>(arguments, arguments + count));
}
