// Result files: written under a temporary name and renamed when whole, so that no half-written
// file ever stands under its own name. Two programs never write the same file at once, and no file
// that was read is written over.
#pragma once
#include <string>
#include <string_view>

namespace steptime {

/// A file that only one program at a time may write. What is written goes to the file at once.
class LockedFile {
 public:
  /// Opens it, creates it if need be, and leaves what it holds. Throws InputError "NAME: ..." when
  /// another program holds it, it was read, or it cannot be written; `name`: what it is for.
  LockedFile(const std::string& path, std::string name);
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  int handle() const { return file_; }
  /// Behind what was written before; at first, at the file's start.
  void write(std::string_view text);
  /// Writes over what stands there.
  void write_at(std::size_t offset, std::string_view text);
  /// Cuts it, and goes on behind that.
  void resize(std::size_t bytes);
  /// What was written survives a power failure.
  void sync();
  [[noreturn]] void fail(const char* what) const;  ///< with the reason of errno

 private:
  std::string name_;
  int file_ = -1;
};

class OutputFile {
 public:
  /// Throws InputError when the file cannot be written.
  explicit OutputFile(std::string path);
  ~OutputFile();  ///< removes what was not committed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  /// Renames the file to its own name.
  void commit();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::string target_;     ///< what a link at `path_` stands for
  std::string temporary_;  ///< "": the device or pipe `target_` is written itself
  std::string waiting_;    ///< not yet in the file
  LockedFile file_;
};

/// Before the program ends without its destructors: removes the temporary files.
void remove_unfinished_outputs();

/// Throws InputError when the file at `path` was read.
void check_is_no_input(const std::string& path);

/// With the folders above it, where they are missing. Throws InputError.
void create_folder(const std::string& path);

/// A whole file at once.
void write_file(const std::string& path, std::string_view text);

}  // namespace steptime
