#include "rubato/launch/metrics/metric_file.h"

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "rubato/base/parse.h"
#include "rubato/wire/descriptor.h"

namespace rubato::launch::metrics {
namespace {

constexpr std::size_t kLinesToSpare = 2000;

Error file_error(const std::string& path) {
  return Error{.code = ErrorCode::Io, .message = fmt::format("{}: {}", path, std::strerror(errno))};
}

std::string line_of(const std::string& name, const MetricPoint& point) {
  return fmt::format("{} {} {} {}\n", point.sequence, point.step,
                     std::isnan(point.value) ? "nan" : shortest(point.value), name);
}

// Adds the point of a line; false if it is none.
bool add_line(std::string_view line, MetricSeries& series) {
  const auto sequence = parse_int(take_until(line, ' '));
  const auto step = parse_int(take_until(line, ' '));
  const std::string_view text = take_until(line, ' ');
  const auto value =
      text == "nan" ? std::optional(std::numeric_limits<double>::quiet_NaN()) : parse_double(text);
  const std::string name = clean_name(line);
  if (!sequence || *sequence < 0 || !step || !value || name.empty()) {
    return false;
  }
  series.add({.name = name, .value = *value, .step = *step}, static_cast<std::uint64_t>(*sequence));
  return true;
}

Status write_all(int file, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written < 0) {
      return file_error(path);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok_status();
}

}  // namespace

Result<MetricFileRead> read_metrics(const std::string& path, MetricSeries& series) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open()) {
    return errno == ENOENT ? Result<MetricFileRead>(MetricFileRead{}) : file_error(path);
  }
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    return bad_input(fmt::format("{} is no plain file", path));
  }
  MetricFileRead read;
  std::string rest;
  std::size_t bytes = 0;
  std::array<char, 1 << 16> some{};
  ssize_t got = 0;
  while (bytes < kMetricFileBytesMax && (got = ::read(file.get(), some.data(), some.size())) > 0) {
    bytes += static_cast<std::size_t>(got);
    rest.append(some.data(), static_cast<std::size_t>(got));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = rest.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      read.is_torn = !add_line({rest.data() + begin, end - begin}, series) || read.is_torn;
      ++read.lines;
    }
    rest.erase(0, begin);
  }
  read.is_torn = read.is_torn || !rest.empty();
  return read;
}

Status MetricFile::load(MetricSeries& series) {
  const auto read = read_metrics(path_, series);
  is_to_write_anew_ = !read || read->is_torn;
  lines_ = read ? read->lines : 0;
  return read ? ok_status() : Status(read.error());
}

void MetricFile::append(const std::string& name, const MetricPoint& point) {
  waiting_ += line_of(name, point);
  ++lines_;
}

Status MetricFile::write(const MetricSeries& series) {
  if (is_to_write_anew_ || lines_ > 2 * series.size() + kLinesToSpare) {
    return write_anew(series);
  }
  if (waiting_.empty()) {
    return ok_status();
  }
  const Descriptor file(
      ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  Status written =
      file.is_open() ? write_all(file.get(), waiting_, path_) : Status(file_error(path_));
  // A part of a line may have been written: all of it is in the series.
  is_to_write_anew_ = !written;
  waiting_.clear();
  return written;
}

Status MetricFile::write_anew(const MetricSeries& series) {
  std::string text;
  std::size_t lines = 0;
  series.visit_after(0, std::numeric_limits<std::size_t>::max(),
                     [&](const std::string& name, const MetricPoint& point) {
                       text += line_of(name, point);
                       ++lines;
                     });
  const std::string fresh = path_ + ".new";
  is_to_write_anew_ = true;
  waiting_.clear();
  {
    const Descriptor file(
        ::open(fresh.c_str(), O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    Status written =
        file.is_open() ? write_all(file.get(), text, fresh) : Status(file_error(fresh));
    if (!written) {
      ::unlink(fresh.c_str());
      return written;
    }
  }
  if (::rename(fresh.c_str(), path_.c_str()) != 0) {
    return file_error(path_);
  }
  lines_ = lines;
  is_to_write_anew_ = false;
  return ok_status();
}

}  // namespace rubato::launch::metrics
