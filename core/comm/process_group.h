#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/kinds.h"
#include "core/tensor/tensor.h"
#include "core/trace/recorder.h"

namespace meshscope::comm {

using tensor::Tensor;

/// How a collective is to be run and why it is there. Make it with braces where the call stands
/// (`CallOptions{…}`, or nothing at all): then `source` is that line; `CallOptions options;` would name this
/// header.
struct CallOptions {
    Stream stream = Stream::compute;  ///< the queue it joins
    trace::Cause cause = {"user.call", ""};
    Algorithm algorithm = Algorithm::none;  ///< none: the group's own choice
    int64_t padding = 0;                    ///< elements of the input that are padding, for the record
    double factor = 1.0;                    ///< premul_sum's
    /// PyTorch's async_op, but on. Off: the call returns when it has ended, and its Work is empty: the same
    /// as wait() right behind it. Of a send it tells torch.distributed.send from isend: see
    /// ProcessGroup::send.
    bool async_op = true;
    std::source_location source = std::source_location::current();
};

/// Stands for the tensor that a call does not have.
inline const Tensor kNoTensor;

/// One collective, before it runs: a view of what the caller holds while it issues the call. `input` and
/// `output` may be undefined where a rank gives or gets nothing (a gather's output off the root), or where
/// the output is the input as well. Counts are elements a group rank; empty means even parts.
struct CollectiveCall {
    CollectiveOp op = CollectiveOp::barrier;
    ReduceOp reduce_op = ReduceOp::none;
    GroupRank peer{-1};  ///< root, or the other side of send and recv
    const Tensor* input = &kNoTensor;
    const Tensor* output = &kNoTensor;
    bool in_place = false;  ///< the output is what is given; `input` is undefined
    std::span<const int64_t> input_counts = {};
    std::span<const int64_t> output_counts = {};
    const CallOptions* options;  ///< must be named

    const Tensor& given() const { return in_place ? *output : *input; }
};

/// The handle of a collective that was issued. Move-only; dropping it without wait() is allowed: the
/// collective still runs, in order, and its tensors stay alive until it ends. For the rank's thread alone.
class Work {
  public:
    struct State;
    Work();
    explicit Work(std::shared_ptr<State> state);
    Work(Work&&) noexcept;
    Work& operator=(Work&&) noexcept;
    ~Work();

    bool valid() const { return static_cast<bool>(state_); }
    bool done() const;
    /// Returns when the collective has ended on this rank, a send when it was received; records that what
    /// follows on `waiter` depends on it. Rethrows what the collective threw. Safe to call twice.
    ///
    /// A rank that waits for a send runs all it has issued first: two that post a send and a recv each, and
    /// wait then, do not wait in a ring (PyTorch's batch_isend_irecv).
    void wait(Stream waiter = Stream::compute);
    /// Returns when the collective has run on this rank: of a send, when a copy of its numbers is on its way,
    /// received or not. Lets go of its tensors. Rethrows what it threw.
    void run();
    /// The recorded event; -1 when nothing is recorded.
    int32_t event() const;

  private:
    std::shared_ptr<State> state_;
};

/// Collectives among some ranks. Every member must make the same calls in the same order.
///
/// A call returns with a Work before it has run, and the result may be read after Work::wait(); unless it
/// waits itself (CallOptions::async_op). Tensors are contiguous; dtype and counts must agree across ranks.
/// Elements counts are given as n = elements a rank, p = group size.
class ProcessGroup {
  public:
    virtual ~ProcessGroup() = default;
    virtual int32_t size() const = 0;
    virtual GroupRank rank() const = 0;
    /// Members by group rank.
    virtual const std::vector<GlobalRank>& ranks() const = 0;
    /// The mesh dim it belongs to, or "world".
    virtual const std::string& name() const = 0;
    /// Checks the call's shapes (throws InvalidArgument), enters it in the record, and queues it on its
    /// stream; a call that waits is then waited for, and throws what Work::wait does.
    virtual Work issue(const CollectiveCall& call) = 0;

    // The calls of PyTorch's torch.distributed, each one sentence over issue().

    Work broadcast(const Tensor& in_out, GroupRank root, const CallOptions& options = {});
    Work reduce(const Tensor& in_out, GroupRank root, ReduceOp op, const CallOptions& options = {});
    Work all_reduce(const Tensor& in_out, ReduceOp op, const CallOptions& options = {});
    /// output: p·n on the root (undefined elsewhere). With counts, rank r gives counts[r].
    Work gather(const Tensor& output, const Tensor& input, GroupRank root,
                const std::vector<int64_t>& counts = {}, const CallOptions& options = {});
    Work scatter(const Tensor& output, const Tensor& input, GroupRank root,
                 const std::vector<int64_t>& counts = {}, const CallOptions& options = {});
    /// output: p·n, rank r's part at r·n (or at the sum of counts before r).
    Work all_gather(const Tensor& output, const Tensor& input, const std::vector<int64_t>& counts = {},
                    const CallOptions& options = {});
    /// input: p·n; output: the reduction of all ranks' r-th part.
    Work reduce_scatter(const Tensor& output, const Tensor& input, ReduceOp op,
                        const std::vector<int64_t>& counts = {}, const CallOptions& options = {});
    /// Part r of the input goes to rank r; part r of the output came from it.
    Work all_to_all(const Tensor& output, const Tensor& input, const std::vector<int64_t>& output_counts = {},
                    const std::vector<int64_t>& input_counts = {}, const CallOptions& options = {});
    /// A send with async_op off waits for its receiver, whatever its size, as NCCL's does and, beyond a
    /// buffer of their own, every library's: two ranks that both send first wait for ever. With async_op on
    /// (isend) a copy leaves when the call's turn comes, and Work::wait waits for the receiver.
    Work send(const Tensor& input, GroupRank to, const CallOptions& options = {});
    Work recv(const Tensor& output, GroupRank from, const CallOptions& options = {});
    Work barrier(const CallOptions& options = {});
};

}  // namespace meshscope::comm
