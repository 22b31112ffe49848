#pragma once

#include "core/comm/call_check.h"
#include "core/comm/shared_table.h"
#include "core/comm/wire.h"

namespace meshscope::comm {

/// Whether run_on_table can run this op: all_reduce, all_gather, reduce_scatter and broadcast. What it runs
/// is Algorithm::direct, hop for hop and byte for byte: the cards in schedule/cards/direct.cpp describe it.
/// What differs is who moves the bytes. Over messages the receiver copies; here whoever has time for it:
///
///  - all_reduce beyond direct_one_round_bytes(): rank r reduces chunk r from all buffers (round 0) and
///    writes each block, while it is in the first-level cache, into all others' buffers (round 1). Both
///    rounds run at once.
///  - broadcast of 32 KiB and more: of each buffer the root writes 1/p, its owner reads the rest.
///
/// Order of reduction: by group rank, as the cards say; so the bits are the same as over messages.
bool can_run_on_table(CollectiveOp op);

/// Runs such a call by the direct algorithm at `table`, which has the wire's members. Returns when the result
/// is there and the input may be changed. The wire gets the sent bytes and the hops.
///
/// Cost, without the copying: one signal from every rank to every other up to SharedTable::kByValueBytes of
/// the full buffer, two beyond.
///
/// Throws what the table throws; "comm.size_mismatch" as messages do; CommError "comm.calls_differ" when
/// members make different calls: another op, reduce op, dtype or root.
void run_on_table(Wire& wire, SharedTable& table, const IssuedCall& call);

}  // namespace meshscope::comm
