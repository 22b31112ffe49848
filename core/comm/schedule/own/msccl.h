#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/comm/schedule/own/program.h"

namespace meshscope::comm::own {

/// An algorithm as MSCCL's interpreter runs it: gpus of threadblocks, each with a list of steps, at most one
/// peer to send to and one to receive from, on a channel.
struct Msccl {
    enum class Type : uint8_t { s, r, rcs, rrc, rrs, rrcs, re, cpy, nop };
    struct Block {
        int32_t gpu = 0, block = 0;  ///< positions in the lists
        int32_t step = -1;           ///< -1: none
    };
    struct Line {
        Type type = Type::nop;
        char src_buffer = 'i', dst_buffer = 'i';  ///< i, o, s
        int32_t src = 0, dst = 0, count = 0;      ///< chunks
        Block after;         ///< another threadblock's step that must be done; gpu is this one's
        int32_t number = 0;  ///< its s; ascending, perhaps with gaps
        int32_t line = 0;    ///< of the file
    };
    struct Threadblock {
        int32_t id = 0, send = -1, receive = -1, channel = 0;
        int32_t line = 0;
        std::vector<Line> steps;
    };
    struct Gpu {
        int32_t scratch = 0;
        int32_t line = 0;
        std::vector<Threadblock> blocks;
    };
    std::string name;
    CollectiveOp op = CollectiveOp::all_reduce;
    int32_t chunks = 1;  ///< nchunksperloop
    bool in_place = true;
    std::vector<Gpu> gpus;  ///< by id
    int32_t line = 1;       ///< of <algo>
};

/// Reads an MSCCL algorithm XML. Throws InputError with every mistake of it, each at its line.
Msccl read_msccl(std::string_view text, const std::string& file);

/// MSCCL's word for a collective; "" where it has none.
std::string_view msccl_word(CollectiveOp op);
std::string_view msccl_word(Msccl::Type type);
inline bool sends(Msccl::Type type) {
    using enum Msccl::Type;
    return type == s || type == rcs || type == rrs || type == rrcs;
}
inline bool receives(Msccl::Type type) {
    using enum Msccl::Type;
    return type == r || type == rcs || type == rrc || type == rrs || type == rrcs;
}

/// Puts what its threadblocks do at the same time into one order a rank: every step when it can begin, the
/// n-th message between two ranks received as the n-th, whatever channels it went by. Throws InputError where
/// threadblocks wait for ever: for each other ("algorithm.circle", in whose order), or for a message that no
/// one sends ("algorithm.never_sent").
Program ordered(const Msccl& msccl, const std::string& file);

}  // namespace meshscope::comm::own
