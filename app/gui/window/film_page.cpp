// A page has no ffmpeg: a film is refused, and what to do instead is said.
#include "app/gui/window/film.h"
#include "core/base/error.h"

namespace meshscope::window {

std::string find_program(const std::string& program, const std::string& /*path*/) {
    return program;  // what it would be for is refused with words of its own
}

Film::Film(const std::string& /*ffmpeg*/, const std::string& mp4, int /*width*/, int /*height*/,
           int /*frames_per_s*/, FilmKind /*kind*/)
    : file_(mp4) {
    fail();
}
Film::~Film() = default;

void Film::fail() const {
    throw IoError({"window.no_film_in_page", {{"path", file_.path()}}});
}
void Film::add(const Image& /*image*/) {
    fail();
}
void Film::finish() {
    fail();
}

}  // namespace meshscope::window
