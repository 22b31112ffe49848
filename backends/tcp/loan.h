#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "backends/tcp/offer.h"

namespace meshscope::backends::tcp {

/// The end of an offered message's place, lent to its sender: while the receiver copies the front from the
/// sender's memory, a sender that has nothing better to do writes the end to the receiver's
/// (process_vm_writev). Two cores copy, so a message that goes one way, while its sender only waits, takes
/// half the time. A sender that computes is not waited for: the receiver then copies the end, too.
///
/// The loan is an Offer the other way round: `address` is where to write, `key` stands at `slot` for as long
/// as the sender may begin. Sender and receiver find out in each other's memory what the other does: the
/// sender says in the word of its own slot that it writes, and then looks whether the key still stands; the
/// receiver takes the key away, and then looks at that word. So one of them sees the other, whatever the
/// order.
class Loan {
  public:
    /// Lends `place`, where the end of `of` is to go. Nobody knows of it yet.
    Loan(const Offer& of, std::span<std::byte> place);
    /// Not before end(): `place` must not go while somebody writes there.
    ~Loan();
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;

    /// What the sender is told.
    const Offer& terms() const { return terms_; }

    /// From here on the sender begins no more; what it has begun is waited for. True: `place` is filled;
    /// false: it is the receiver's to fill. `given_up` is asked again and again while the sender writes, and
    /// may throw. When it says true the sender may end the block that it is at, for which it has 100 ms: what
    /// runs needs a hundredth of that, and a process that was stopped in the middle is not waited for.
    bool end(const std::function<bool()>& given_up);

  private:
    /// From here on the sender begins no further block.
    void stop_writing();

    Offer of_;
    OfferSlot slot_;
    Offer terms_;
};

/// The sender's side: writes `rest`, the end of the message offered at `own`, to the place that was lent,
/// unless the loan has ended. It believes the peer that named the place, as who takes an Offer does
/// (SECURITY.md). Cost: as write_memory.
void use_loan(const Offer& terms, ByteSpan rest, OfferSlot& own);

}  // namespace meshscope::backends::tcp
