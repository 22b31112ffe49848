#include "core/trace/hop_rows.h"

#include <sqlite3.h>

#include <array>
#include <memory>
#include <new>

namespace meshscope::trace {
namespace {

template <class T>
void put(std::vector<std::byte>& blob, T value) {
    std::array<std::byte, sizeof(T)> bytes;
    auto bits = static_cast<uint64_t>(value);
    for (std::byte& b : bytes) {
        b = static_cast<std::byte>(bits & 0xFFU);
        bits >>= 8;
    }
    blob.insert(blob.end(), bytes.begin(), bytes.end());
}

template <class T>
T get(const std::byte* bytes) {
    uint64_t bits = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i) bits |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
    return static_cast<T>(bits);
}

// The virtual table, as https://www.sqlite.org/vtab.html#tabfunc2 describes: eponymous, one hidden column for
// the blob.

enum Column {
    kOrdinal,
    kRound,
    kSrc,
    kDst,
    kChunk,
    kReduces,
    kOffset,
    kElements,
    kBytes,
    kBegin,
    kEnd,
    kValues,
    kData
};

struct Cursor {
    sqlite3_vtab_cursor base;  // first: SQLite knows only this
    std::vector<std::byte> blob;
    std::size_t hops, at;
};

int connect(sqlite3* db, void*, int, const char* const*, sqlite3_vtab** table, char**) {
    const int code = sqlite3_declare_vtab(db,
                                          "CREATE TABLE x(ordinal INTEGER, round INTEGER, src INTEGER, dst "
                                          "INTEGER, chunk INTEGER, reduces INTEGER, "
                                          "offset INTEGER, elements INTEGER, bytes INTEGER, t_begin_ns "
                                          "INTEGER, t_end_ns INTEGER, first_value INTEGER, "
                                          "data HIDDEN)");
    if (code != SQLITE_OK) return code;
    // It only reads its argument, so views of a file may use it although the file is not trusted.
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    *table = new (std::nothrow) sqlite3_vtab{};
    return *table == nullptr ? SQLITE_NOMEM : SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
    delete table;
    return SQLITE_OK;
}

int best_index(sqlite3_vtab*, sqlite3_index_info* info) {
    for (int i = 0; i < info->nConstraint; ++i) {
        const auto& constraint = info->aConstraint[i];
        if (constraint.iColumn != kData || constraint.op != SQLITE_INDEX_CONSTRAINT_EQ) continue;
        if (constraint.usable == 0)
            return SQLITE_CONSTRAINT;  // the blob comes from a later table: join the other way
        info->aConstraintUsage[i].argvIndex = 1;
        info->aConstraintUsage[i].omit = 1;
        info->estimatedCost = 10.0;
        info->estimatedRows = 10;
        return SQLITE_OK;
    }
    info->estimatedCost = 1e9;  // hop_rows without its argument: no rows
    return SQLITE_OK;
}

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** cursor) {
    auto* made = new (std::nothrow) Cursor{};
    if (made == nullptr) return SQLITE_NOMEM;
    *cursor = &made->base;
    return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
    delete reinterpret_cast<Cursor*>(cursor);
    return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char*, int argc, sqlite3_value** argv) {
    auto* self = reinterpret_cast<Cursor*>(cursor);
    self->blob.clear();
    self->at = 0;
    if (argc == 1 && sqlite3_value_type(argv[0]) == SQLITE_BLOB) {
        const auto* data = static_cast<const std::byte*>(sqlite3_value_blob(argv[0]));
        const auto size = static_cast<std::size_t>(sqlite3_value_bytes(argv[0]));
        try {
            if (data != nullptr) self->blob.assign(data, data + size);
        } catch (const std::bad_alloc&) {
            return SQLITE_NOMEM;  // no exception may pass through SQLite
        }
    }
    self->hops = self->blob.size() / kHopBytes;
    return SQLITE_OK;
}

int next(sqlite3_vtab_cursor* cursor) {
    ++reinterpret_cast<Cursor*>(cursor)->at;
    return SQLITE_OK;
}

int eof(sqlite3_vtab_cursor* cursor) {
    const auto* self = reinterpret_cast<Cursor*>(cursor);
    return self->at >= self->hops ? 1 : 0;
}

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* out, int which) {
    const auto* self = reinterpret_cast<Cursor*>(cursor);
    const Hop hop = unpack_hop(self->blob.data() + self->at * kHopBytes, 0);
    switch (which) {
        case kOrdinal:
            sqlite3_result_int64(out, static_cast<sqlite3_int64>(self->at));
            break;
        case kRound:
            sqlite3_result_int(out, hop.round);
            break;
        case kSrc:
            sqlite3_result_int(out, hop.src);
            break;
        case kDst:
            sqlite3_result_int(out, hop.dst);
            break;
        case kChunk:
            sqlite3_result_int(out, hop.chunk);
            break;
        case kReduces:
            sqlite3_result_int(out, hop.reduces);
            break;
        case kOffset:
            sqlite3_result_int64(out, hop.offset);
            break;
        case kElements:
            sqlite3_result_int64(out, hop.elements);
            break;
        case kBytes:
            sqlite3_result_int64(out, hop.bytes);
            break;
        case kBegin:
            sqlite3_result_int64(out, hop.t_begin_ns);
            break;
        case kEnd:
            sqlite3_result_int64(out, hop.t_end_ns);
            break;
        case kValues:
            if (hop.values >= 0) sqlite3_result_int64(out, hop.values);
            break;  // NULL: not kept
        default:
            break;
    }
    return SQLITE_OK;
}

int rowid(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
    *out = static_cast<sqlite3_int64>(reinterpret_cast<Cursor*>(cursor)->at);
    return SQLITE_OK;
}

sqlite3_module make_module() {
    sqlite3_module module{};
    module.xConnect = connect;  // and no xCreate: eponymous only
    module.xBestIndex = best_index;
    module.xDisconnect = disconnect;
    module.xOpen = open_cursor;
    module.xClose = close_cursor;
    module.xFilter = filter;
    module.xNext = next;
    module.xEof = eof;
    module.xColumn = column;
    module.xRowid = rowid;
    return module;
}

}  // namespace

void pack_hops(std::span<const Hop> hops, std::vector<std::byte>& blob) {
    blob.reserve(blob.size() + hops.size() * kHopBytes);
    for (const Hop& h : hops) {
        put(blob, h.round);
        put(blob, h.src);
        put(blob, h.dst);
        put(blob, h.chunk);
        put(blob, int32_t{h.reduces});
        put(blob, h.n_pieces);
        put(blob, h.offset);
        put(blob, h.elements);
        put(blob, h.bytes);
        put(blob, h.t_begin_ns);
        put(blob, h.t_end_ns);
        put(blob, h.values);
    }
}

Hop unpack_hop(const std::byte* b, int32_t event) {
    Hop h;
    h.event = event;
    h.round = get<int32_t>(b);
    h.src = get<int32_t>(b + 4);
    h.dst = get<int32_t>(b + 8);
    h.chunk = get<int32_t>(b + 12);
    h.reduces = static_cast<uint8_t>(get<int32_t>(b + 16));
    h.n_pieces = get<int32_t>(b + 20);
    h.offset = get<int64_t>(b + 24);
    h.elements = get<int64_t>(b + 32);
    h.bytes = get<int64_t>(b + 40);
    h.t_begin_ns = get<int64_t>(b + 48);
    h.t_end_ns = get<int64_t>(b + 56);
    h.values = get<int64_t>(b + 64);
    return h;
}

int register_hop_rows(sqlite3* db) {
    static const sqlite3_module kModule = make_module();
    return sqlite3_create_module_v2(db, "hop_rows", &kModule, nullptr, nullptr);
}

}  // namespace meshscope::trace
