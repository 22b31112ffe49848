#pragma once

#include <string>
#include <vector>

#include "app/gui/window/frame_buffer.h"
#include "core/base/replace_file.h"

namespace meshscope::window {

/// The program and arguments that make `mp4` from PNG frames in `folder` (frame_00000.png …): what a user can
/// run later.
std::vector<std::string> film_command(const std::string& folder, int frames_per_s, const std::string& mp4);

/// The full path of `program` in PATH's folders; "" when there is none. `path` is PATH's value.
std::string find_program(const std::string& program, const std::string& path);

enum class FilmKind { mp4, gif };

/// A film being written: raw frames go through a socket to ffmpeg, started by its arguments (no shell); an
/// ffmpeg that dies is an error of add(), never a signal. The film is written beside, under a name that no
/// one else uses, and renamed when finish() finds that ffmpeg was content.
class Film {
  public:
    /// Width and height of an mp4 must be even. A gif gets the best 256 colours of each frame. Throws IoError
    /// ("window.film_failed") when ffmpeg cannot be started, "file.cannot_write" where the film cannot be
    /// made.
    Film(const std::string& ffmpeg, const std::string& mp4, int width, int height, int frames_per_s,
         FilmKind kind = FilmKind::mp4);
    ~Film();
    Film(const Film&) = delete;
    Film& operator=(const Film&) = delete;

    /// Throws IoError ("window.film_failed") when ffmpeg has gone.
    void add(const Image& image);
    void finish();

  private:
    [[noreturn]] void fail() const;
    void mark() const;

    ReplaceFile file_;
    FilmKind kind_ = FilmKind::mp4;
    int socket_ = -1;
    int child_ = -1;
};

}  // namespace meshscope::window
