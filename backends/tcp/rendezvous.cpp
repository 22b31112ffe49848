#include "backends/tcp/rendezvous.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <sstream>
#include <thread>
#include <utility>

#include "backends/tcp/store_client.h"
#include "core/base/error.h"

namespace meshscope::backends::tcp {
namespace {

using std::chrono::milliseconds;

// A wait this long does not keep a rank from noticing that another has failed.
constexpr milliseconds kLook{200};
constexpr milliseconds kBetweenReads{10};
constexpr std::size_t kMostFileBytes = std::size_t{1} << 20;

/// The number that a text begins with.
std::optional<int32_t> rank_in(const std::string& text) {
    int32_t rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    return error == std::errc() ? std::optional(rank) : std::nullopt;
}

class StoreRendezvous final : public Rendezvous {
  public:
    StoreRendezvous(const StoreClientOptions& options, std::string prefix, int32_t rank)
        : client_(options), prefix_(std::move(prefix)), rank_(rank) {}
    void publish(const std::string& address) override {
        const std::string there = client_.compare_set(key(rank_), "", address);
        if (there != address) {
            const Message taken{"tcp.rank_taken", {{"rank", int64_t{rank_}}, {"address", there}}};
            client_.tell_refused(taken);
            throw CommError(taken, GlobalRank{rank_});
        }
        published_ = true;
    }
    std::optional<std::string> look_up(int32_t peer) override {
        try {
            return client_.wait(key(peer), kLook);
        } catch (const CommError& error) {
            if (error.message().id != "tcp.store_timeout") throw;
            return std::nullopt;
        }
    }
    std::optional<std::vector<int32_t>> published() override {
        std::vector<int32_t> ranks;
        try {
            for (const std::string& key : client_.keys(prefix_))
                if (const auto rank = rank_in(key.substr(prefix_.size()))) ranks.push_back(*rank);
        } catch (const InvalidArgument&) {  // "tcp.store_refused": its answers have a limit
            return std::nullopt;
        }
        return ranks;
    }
    void forget() noexcept override {
        try {
            if (published_) client_.erase(key(rank_));
        } catch (...) {
            // The store went first; so did the address.
        }
    }
    std::string own_host() const override { return client_.own_host(); }

  private:
    std::string key(int32_t rank) const { return prefix_ + std::to_string(rank); }

    StoreClient client_;
    std::string prefix_;
    int32_t rank_;
    bool published_ = false;
};

class FileRendezvous final : public Rendezvous {
  public:
    FileRendezvous(std::string path, const std::string& run_id, uint64_t generation, int32_t rank)
        : path_(std::move(path)), rank_(rank) {
        std::ostringstream words;
        words << 'x' << std::hex;  // so that an empty run id is a word, too
        for (const unsigned char c : run_id) words << (c >> 4U) << (c & 15U);
        words << std::dec << ' ' << generation << ' ';
        run_ = words.str();
    }
    void publish(const std::string& address) override {
        mine_ = prefix(rank_) + address;
        edit([&](const std::string& text) { return without(text, prefix(rank_)) + mine_ + "\n"; });
    }
    std::optional<std::string> look_up(int32_t peer) override {
        const Deadline until = Clock::now() + kLook;
        const std::string wanted = prefix(peer);
        do {
            std::istringstream lines(read());
            for (std::string line; std::getline(lines, line);)
                if (line.starts_with(wanted)) return line.substr(wanted.size());
            std::this_thread::sleep_for(kBetweenReads);
        } while (Clock::now() < until);
        return std::nullopt;
    }
    std::optional<std::vector<int32_t>> published() override {
        std::vector<int32_t> ranks;
        std::istringstream lines(read());
        for (std::string line; std::getline(lines, line);)
            if (line.starts_with(run_))
                if (const auto rank = rank_in(line.substr(run_.size()))) ranks.push_back(*rank);
        return ranks;
    }
    void forget() noexcept override {
        try {
            if (!mine_.empty()) edit([&](const std::string& text) { return without(text, mine_); });
        } catch (...) {
            // A line that stays does no harm.
        }
    }
    std::string own_host() const override { return {}; }

  private:
    std::string prefix(int32_t rank) const { return run_ + std::to_string(rank) + " "; }

    [[noreturn]] void fail() const {
        throw IoError(
            {"tcp.rendezvous_file", {{"path", path_}, {"reason", std::string(std::strerror(errno))}}});
    }

    static std::string without(const std::string& text, const std::string& prefix) {
        std::istringstream lines(text);
        std::string rest;
        for (std::string line; std::getline(lines, line);)
            if (!line.starts_with(prefix)) rest += line + "\n";
        return rest;
    }

    Fd open_locked(int how) const {
        Fd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600));
        struct stat status {};
        if (!file.open() || ::fstat(file.get(), &status) != 0) fail();
        if (!S_ISREG(status.st_mode)) {
            errno = EINVAL;
            fail();
        }
        while (::flock(file.get(), how) != 0)
            if (errno != EINTR) fail();
        return file;
    }

    std::string read_all(const Fd& file) const {
        std::string text(kMostFileBytes, '\0');
        std::size_t size = 0;
        while (size < text.size()) {
            const ssize_t n =
                ::pread(file.get(), text.data() + size, text.size() - size, static_cast<off_t>(size));
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) fail();
            if (n == 0) break;
            size += static_cast<std::size_t>(n);
        }
        text.resize(size);
        return text;
    }

    std::string read() const { return read_all(open_locked(LOCK_SH)); }

    template <class Change>
    void edit(const Change& change) {
        const Fd file = open_locked(LOCK_EX);
        const std::string text = change(read_all(file));
        if (::ftruncate(file.get(), 0) != 0) fail();
        std::size_t at = 0;
        while (at < text.size()) {
            const ssize_t n =
                ::pwrite(file.get(), text.data() + at, text.size() - at, static_cast<off_t>(at));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) fail();
            at += static_cast<std::size_t>(n);
        }
    }

    std::string path_;
    std::string run_;
    std::string mine_;  ///< this rank's line, once published
    int32_t rank_;
};

}  // namespace

InitMethod parse_init_method(const std::string& init_method) {
    const std::string tcp = "tcp://", file = "file://";
    InitMethod method;
    if (init_method.starts_with(tcp)) {
        method.store = init_method.substr(tcp.size());
        parse_address(method.store);
    } else if (init_method.starts_with(file + "/")) {
        method.file = init_method.substr(file.size());
    } else {
        throw InvalidArgument({"tcp.init_method", {{"init_method", init_method}}});
    }
    return method;
}

namespace {

/// Of a rank that does not reach the store: rank 0 is the one that serves it.
Message awaits_store(const TcpOptions& options, Message message) {
    message.id = "tcp.awaits_rank0";
    message.args.push_back({"rank", int64_t{options.rank}});
    return message;
}

}  // namespace

std::unique_ptr<Rendezvous> open_rendezvous(const TcpOptions& options, uint64_t generation,
                                            Deadline deadline) {
    const InitMethod method = parse_init_method(options.init_method);
    if (!method.file.empty())
        return std::make_unique<FileRendezvous>(method.file, options.run_id, generation, options.rank);
    StoreClientOptions store;
    store.address = method.store;
    store.token = options.token;
    store.run_id = options.run_id;
    store.connect = milliseconds(ms_until(deadline));
    store.stopped = options.stopped;
    if (options.log)
        store.tell = [&options](const Message& message) {
            const bool of_rank0 = message.id == "tcp.still_connecting" && options.host_store;
            options.log(of_rank0 ? awaits_store(options, message) : message);
        };
    return std::make_unique<StoreRendezvous>(store, "ranks/" + std::to_string(generation) + "/",
                                             options.rank);
}

}  // namespace meshscope::backends::tcp
