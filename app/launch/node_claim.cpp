#include "app/launch/node_claim.h"

#include "backends/tcp/token.h"
#include "core/base/error.h"

namespace meshscope::launch {

using backends::tcp::Token;

NodeClaim::NodeClaim(backends::tcp::StoreClient& store, int32_t node_rank,
                     std::chrono::milliseconds lost_after)
    : store_(store),
      node_rank_(node_rank),
      lost_after_(lost_after),
      key_("launch/node-rank/" + std::to_string(node_rank)),
      self_(store.own_host() + " " + Token::random().hex().substr(0, 16) + " ") {}

std::string NodeClaim::next_word() {
    return self_ + std::to_string(++beats_);
}

void NodeClaim::refuse(const std::string& word) const {
    const Message taken{"launch.node_rank_taken",
                        {{"node_rank", int64_t{node_rank_}}, {"host", word.substr(0, word.find(' '))}}};
    store_.tell_refused(taken);
    throw InvalidArgument(taken);
}

bool NodeClaim::take() {
    if (node_rank_ < 0 || held_) return true;
    const bool gone = !seen_.empty() && Clock::now() - seen_since_ > lost_after_;
    const std::string mine = next_word();
    // Where somebody's word is not known yet, an empty one: that takes the key when it is missing.
    const std::string there = gone || seen_.empty() ? store_.compare_set(key_, gone ? seen_ : "", mine)
                                                    : store_.get(key_).value_or("");
    if (there == mine) {
        held_ = true;
        word_ = mine;
        said_ = Clock::now();
    } else if (there.empty()) {
        seen_.clear();  // let go
    } else if (seen_.empty()) {
        seen_ = there;
        seen_since_ = Clock::now();
    } else if (there != seen_) {
        refuse(there);
    }
    return held_;
}

void NodeClaim::keep() {
    if (!held_ || Clock::now() - said_ < lost_after_ / 10) return;
    said_ = Clock::now();
    const std::string mine = next_word();
    const std::string there = store_.compare_set(key_, word_, mine);
    if (there != mine) refuse(there);
    word_ = mine;
}

void NodeClaim::let_go() {
    if (held_ && store_.get(key_) == word_) store_.erase(key_);
    held_ = false;
}

}  // namespace meshscope::launch
