#include "rubato/wire/descriptor.h"

#include <unistd.h>

namespace rubato {

Descriptor::~Descriptor() {
  if (number_ >= 0) {
    ::close(number_);
  }
}

}  // namespace rubato
