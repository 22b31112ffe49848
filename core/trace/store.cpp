#include "core/trace/store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

#include "core/base/cannot_write.h"
#include "core/base/replace_file.h"
#include "core/trace/old_pieces.h"
#include "core/trace/schema.h"
#include "core/trace/table_io.h"
#include "core/trace/tables.h"
#include "core/trace/validate.h"

namespace meshscope::trace {
namespace {

[[noreturn]] void refuse(const std::string& path, Message message, int64_t byte = -1) {
    throw InputError({Diagnostic{std::move(message), SourcePosition{path, 0, 0, byte}, Message{}}});
}

[[noreturn]] void refuse_damaged(const std::string& path, const std::string& section) {
    refuse(path, Message{"trace.damaged", {{"section", section}}});
}

[[noreturn]] void cannot_open(const std::string& path, int error) {
    throw IoError(
        Message{"trace.cannot_open", {{"path", path}, {"reason", std::generic_category().message(error)}}});
}

/// The first bytes of a file and its size.
struct Head {
    std::array<unsigned char, 100> bytes{};
    std::size_t read = 0;
    int64_t size = 0;

    /// Big endian, as SQLite's header is.
    int64_t number(std::size_t at, std::size_t width) const {
        int64_t value = 0;
        for (std::size_t i = 0; i < width; ++i) value = value << 8 | bytes[at + i];
        return value;
    }
};

Head read_head(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a fifo must not make us wait
    if (file < 0) cannot_open(path, errno);
    Head head;
    struct stat status {};
    int error = fstat(file, &status) != 0 ? errno : 0;
    const bool is_file = error == 0 && S_ISREG(status.st_mode);
    if (is_file) {
        head.size = status.st_size;
        const ssize_t got = pread(file, head.bytes.data(), head.bytes.size(), 0);
        if (got < 0)
            error = errno;
        else
            head.read = static_cast<std::size_t>(got);
    }
    close(file);
    if (error != 0) cannot_open(path, error);
    if (!is_file) throw IoError(Message{"trace.not_a_file", {{"path", path}}});
    return head;
}

/// What the header of the file says, before SQLite sees it (https://www.sqlite.org/fileformat.html,
/// section 1.3). Gives the schema's version.
int64_t check_head(const std::string& path, const Head& head) {
    constexpr std::string_view kMagic{"SQLite format 3\0", 16};
    if (head.size == 0) refuse(path, Message{"trace.empty", {}});
    const std::size_t seen = std::min(head.read, kMagic.size());
    if (!std::equal(head.bytes.begin(), head.bytes.begin() + static_cast<std::ptrdiff_t>(seen),
                    kMagic.begin(),
                    [](unsigned char a, char b) { return a == static_cast<unsigned char>(b); }))
        refuse(path, Message{"trace.foreign", {}}, 0);
    const auto cut = [&](int64_t expected) {
        refuse(path, Message{"trace.cut", {{"bytes", head.size}, {"expected", expected}}}, head.size);
    };
    if (head.read < head.bytes.size()) cut(static_cast<int64_t>(head.bytes.size()));
    if (head.number(68, 4) != kApplicationId) refuse(path, Message{"trace.foreign", {}}, 68);
    const int64_t version = head.number(60, 4);
    if (version > kSchemaVersion)
        refuse(path, Message{"trace.newer_version",
                             {{"file_version", version}, {"tool_version", int64_t{kSchemaVersion}}}});
    const int64_t page = head.number(16, 2) == 1 ? 65536 : head.number(16, 2);
    const int64_t expected = page * head.number(28, 4);
    const bool plain = page >= 512 && (page & (page - 1)) == 0 && head.number(18, 2) == 0x0101 &&  // no WAL
                       head.number(20, 1) == 0 && head.number(24, 4) == head.number(92, 4) && version >= 1;
    if (!plain) refuse_damaged(path, "header");
    if (head.size < expected) cut(expected);
    if (head.size > expected) refuse_damaged(path, "file");
    return version;
}

constexpr int kNoMemory = 7;  // SQLITE_NOMEM

}  // namespace

void write_trace(const Trace& trace, const std::string& path) {
    ReplaceFile file(path);
    try {
        sqlite::Database database = sqlite::Database::for_writing(file.part_path());
        write_tables(database, trace);
        database.close();
    } catch (const sqlite::Failure& failure) {
        if (failure.code() == kNoMemory) throw std::bad_alloc();
        if (failure.system_error() != 0) throw IoError(cannot_write(path, failure.system_error()));
        throw IoError(
            Message{"file.cannot_write", {{"path", path}, {"reason", std::string(failure.what())}}});
    }
    file.commit();
}

OpenTrace open_trace(const std::string& path) {
    const int64_t version = check_head(path, read_head(path));
    try {
        sqlite::Database database = sqlite::Database::read_only(path);
        Trace trace = read_tables(database);
        validate(trace);
        if (version < 3) name_old_pieces(trace);
        return {std::move(database), std::move(trace)};
    } catch (const Damage& damage) {
        refuse_damaged(path, damage.section);
    } catch (const sqlite::Failure& failure) {
        if (failure.code() == kNoMemory) throw std::bad_alloc();
        refuse_damaged(path, "file");
    } catch (const InvalidArgument&
                 error) {  // validate(): a file whose checksums hold but whose content cannot be
        const MessageValue* table = error.message().find("table");
        refuse_damaged(path, table != nullptr ? to_text(*table) : "file");
    }
}

Trace read_trace(const std::string& path) {
    return open_trace(path).trace;
}

}  // namespace meshscope::trace
