// Result files: written under a temporary name and renamed when whole, so that no half-written
// file ever stands under its own name.
#pragma once
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace steptime {

class OutputFile {
 public:
  /// Throws InputError when the file cannot be written.
  explicit OutputFile(std::string path);
  ~OutputFile();  ///< removes what was not committed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  void flush();
  /// Renames the file to its own name.
  void commit();
  const std::string& path() const { return path_; }

 private:
  [[noreturn]] void fail(const char* what) const;
  void discard() const;  ///< removes the temporary file
  std::string path_;
  std::string temporary_;
  std::FILE* file_ = nullptr;
};

/// With the folders above it, where they are missing. Throws InputError.
void create_folder(const std::string& path);

/// A whole file at once.
void write_file(const std::string& path, std::string_view text);

}  // namespace steptime
