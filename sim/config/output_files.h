// Result files: written under a temporary name and renamed when whole, so that no half-written
// file ever stands under its own name. Two programs never write the same file at once. A file is
// replaced only by one of its own kind, and never where it was read.
#pragma once
#include <string>
#include <string_view>

namespace steptime {

/// What a verb writes into a file, and how it knows an earlier one again.
struct OutputKind {
  std::string_view name{};   ///< as "a trace of steptime"
  std::string_view start{};  ///< every such file begins with it; "": any file may be replaced
  std::string_view mark{};   ///< it stands in the first or the last 4 KiB of every such file
};

/// A file that only one program at a time may write. What is written goes to the file at once.
class LockedFile {
 public:
  /// Opens it, creates it if need be, and leaves what it holds. Throws InputError "NAME: ..." when
  /// another program holds it, it was read, it holds something else than the beginning of a file of
  /// this kind, or it cannot be written; `name`: what it is for. Of a kind with a start it is a
  /// regular file.
  LockedFile(const std::string& path, std::string name, const OutputKind& kind);
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
  /// Throws InputError when the file cannot be written, as check_output() does.
  explicit OutputFile(std::string path, const OutputKind& kind = {});
  ~OutputFile();  ///< removes what was not committed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::string_view text);
  /// Renames the file to its own name.
  void commit();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  OutputKind kind_;
  std::string target_;     ///< what a link at `path_` stands for
  std::string temporary_;  ///< "": the device or pipe `target_` is written itself
  std::string waiting_;    ///< not yet in the file
  LockedFile file_;
};

/// Before the program ends without its destructors: removes the temporary files.
void remove_unfinished_outputs();

/// Throws InputError when the file at `path` was read.
void check_is_no_input(const std::string& path);

/// Throws InputError when a file at `path` must not be replaced by one of the kind: it was read, or
/// holds something else.
void check_output(const std::string& path, const OutputKind& kind);
/// The same of a file whose name the user did not choose: what is no regular file is refused, too.
void check_regular_output(const std::string& path, const OutputKind& kind);

/// With the folders above it, where they are missing. Throws InputError.
void create_folder(const std::string& path);

/// A whole file at once.
void write_file(const std::string& path, std::string_view text, const OutputKind& kind = {});

}  // namespace steptime
