#include "app/gui/window/film.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/cannot_write.h"
#include "core/base/file_kind.h"
#include "core/base/start_thread.h"

namespace meshscope::window {
namespace {

std::vector<std::string> encoder() {
    return {"-c:v", "libx264",  "-preset", "veryfast",  "-crf",
            "20",   "-pix_fmt", "yuv420p", "-movflags", "+faststart"};
}

/// Each frame's own colours: a palette of all frames would keep all of them in memory until the last.
std::vector<std::string> gif_encoder() {
    return {"-filter_complex",
            "split[a][b];[a]palettegen=stats_mode=single[p];[b][p]paletteuse=new=1:dither=none", "-loop",
            "0"};
}

std::vector<std::string> join(std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace

std::vector<std::string> film_command(const std::string& folder, int frames_per_s, const std::string& mp4) {
    return join(join({"ffmpeg", "-y", "-framerate", std::to_string(frames_per_s), "-i",
                      (std::filesystem::path(folder) / "frame_%05d.png").string()},
                     encoder()),
                {mp4});
}

std::string find_program(const std::string& program, const std::string& path) {
    for (size_t at = 0; at <= path.size();) {
        const size_t end = std::min(path.find(':', at), path.size());
        const std::string candidate = (std::filesystem::path(path.substr(at, end - at)) / program).string();
        if (::access(candidate.c_str(), X_OK) == 0 && !std::filesystem::is_directory(candidate))
            return candidate;
        at = end + 1;
    }
    return {};
}

Film::Film(const std::string& ffmpeg, const std::string& mp4, int width, int height, int frames_per_s,
           FilmKind kind)
    : file_(mp4), kind_(kind) {
    // Without -xerror ffmpeg is content with a film whose end a full disk did not take.
    // The part's name does not tell the format, so it is named; the part is there already, so it is
    // overwritten.
    const std::vector<std::string> words =
        join(join({ffmpeg, "-loglevel", "error", "-xerror", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s",
                   std::to_string(width) + "x" + std::to_string(height), "-r", std::to_string(frames_per_s),
                   "-i", "-"},
                  kind == FilmKind::gif ? gif_encoder() : encoder()),
             {"-f", kind == FilmKind::gif ? "gif" : "mp4", file_.part_path()});
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);

    // A socket, not a pipe: writing to one that no one reads can be asked to raise no signal.
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail();
    child_ = ::fork();
    const int refused = child_ < 0 ? errno : 0;
    if (child_ == 0) {
        ::dup2(ends[0], STDIN_FILENO);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }
    ::close(ends[0]);
    socket_ = ends[1];
    if (child_ < 0) {
        ::close(socket_);
        socket_ = -1;
        throw_if_limited(refused);
        fail();
    }
}

Film::~Film() {
    if (socket_ >= 0) ::close(socket_);
    if (child_ > 0) ::waitpid(child_, nullptr, 0);
}

void Film::fail() const {
    // The usual reason, in words: ffmpeg's own come on stderr, which a window does not show.
    std::error_code error;
    const auto space =
        std::filesystem::space(std::filesystem::absolute(file_.part_path(), error).parent_path(), error);
    if (!error && space.available == 0)
        throw IoError({"file.cannot_write",
                       {{"path", file_.path()},
                        {"reason", std::make_error_code(std::errc::no_space_on_device).message()}}});
    rlimit limit{};
    const auto size = std::filesystem::file_size(file_.part_path(), error);
    if (!error && getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        size >= limit.rlim_cur)
        throw IoError(cannot_write(file_.path(), EFBIG));
    throw IoError({"window.film_failed", {{"path", file_.path()}}});
}

void Film::add(const Image& image) {
    const uint8_t* at = image.rgb.data();
    size_t left = image.rgb.size();
    while (left > 0) {
        const ssize_t wrote = ::send(socket_, at, left, MSG_NOSIGNAL);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) fail();
        at += wrote;
        left -= static_cast<size_t>(wrote);
    }
}

/// Says at the film's end whose it is: a player passes over both. A GIF ends with a trailer of one byte.
void Film::mark() const {
    std::error_code error;
    const auto size = std::filesystem::file_size(file_.part_path(), error);
    const bool gif = kind_ == FilmKind::gif;
    std::fstream part(file_.part_path(), std::ios::binary | std::ios::in | std::ios::out);
    part.seekp(static_cast<std::streamoff>(gif && size > 0 ? size - 1 : size));
    part << (gif ? kGifMark : kMp4Mark);
    part.close();
    if (error || !part) fail();
}

void Film::finish() {
    ::close(socket_);
    socket_ = -1;
    int status = 0;
    while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail();
    mark();
    file_.commit();
}

}  // namespace meshscope::window
