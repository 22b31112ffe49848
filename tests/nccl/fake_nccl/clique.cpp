#include "tests/nccl/fake_nccl/clique.h"

#include <algorithm>
#include <tuple>

#include "tests/nccl/fake_nccl/orders.h"

using fake_nccl::Clique;
using fake_nccl::Kind;
using fake_nccl::Op;

namespace {

const unsigned char* bytes(const void* memory) {
    return static_cast<const unsigned char*>(memory);
}

}  // namespace

ncclComm::ncclComm(std::shared_ptr<Clique> members, int place)
    : clique(std::move(members)), rank(place), thread_([this] { serve(); }) {
    fake_nccl::orders().comm_made();
}

ncclComm::~ncclComm() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    has_work_.notify_one();
    thread_.join();
    fake_nccl::orders().comm_gone();
}

void ncclComm::abort() {
    {
        const std::lock_guard lock(clique->mutex);
        aborted_.store(true);
    }
    clique->changed.notify_all();
}

void ncclComm::begin(std::vector<Op> group) {
    state.store(ncclInProgress);
    {
        const std::lock_guard lock(mutex_);
        groups_.push_back(std::move(group));
    }
    has_work_.notify_one();
}

void ncclComm::serve() {
    while (true) {
        std::vector<Op> group;
        {
            std::unique_lock lock(mutex_);
            has_work_.wait(lock, [&] { return stop_ || !groups_.empty(); });
            if (groups_.empty()) return;
            group = std::move(groups_.front());
            groups_.pop_front();
        }
        try {
            run(group);
            state.store(ncclSuccess);
        } catch (const Aborted&) {
            // Who aborts looks no more.
        }
    }
}

template <class Ready>
void ncclComm::wait(std::unique_lock<std::mutex>& lock, const Ready& ready) {
    clique->changed.wait(lock, [&] { return aborted_.load() || ready(); });
    if (aborted_.load()) throw Aborted();
}

Clique::Meeting& ncclComm::meet(std::unique_lock<std::mutex>& lock, const Op& op, int64_t& number) {
    number = meetings_++;
    Clique::Meeting& meeting = clique->meetings[number];
    meeting.brought.resize(static_cast<size_t>(clique->n));
    meeting.brought[static_cast<size_t>(rank)] = op;
    ++meeting.come;
    clique->changed.notify_all();
    try {
        wait(lock, [&] { return meeting.come == clique->n; });
    } catch (const Aborted&) {
        meeting.gone = true;  // what it brought may go
        throw;
    }
    if (meeting.gone) wait(lock, [] { return false; });
    ++meeting.reading;
    return meeting;
}

/// Nobody goes before everybody has read what the others brought.
void ncclComm::leave(int64_t number) {
    std::unique_lock lock(clique->mutex);
    Clique::Meeting& meeting = clique->meetings[number];
    ++meeting.left;
    --meeting.reading;
    clique->changed.notify_all();
    try {
        wait(lock, [&] { return meeting.left >= clique->n; });
    } catch (const Aborted&) {
        // Who reads this rank's memory is let finish, and nobody begins to.
        meeting.gone = true;
        clique->changed.wait(lock, [&] { return meeting.reading == 0; });
        throw;
    }
    if (++meeting.left == 2 * clique->n) clique->meetings.erase(number);
}

void ncclComm::run(std::vector<Op>& group) {
    const std::optional<int> broken = fake_nccl::orders().begins_group(group[0].kind, rank);
    if (broken) {
        if (*broken != ncclInProgress) state.store(*broken);
        std::unique_lock lock(clique->mutex);
        wait(lock, [] { return false; });
    }
    std::deque<Clique::Message> messages;
    send_all(group, messages);
    try {
        for (const Op& op : group) {
            if (op.kind == Kind::recv)
                receive(op);
            else if (op.kind == Kind::split)
                split(op);
            else if (op.kind != Kind::send)
                collective(op);
        }
        std::unique_lock lock(clique->mutex);
        wait(lock, [&] {
            return std::ranges::all_of(messages, [](const auto& message) { return message.taken; });
        });
    } catch (const Aborted&) {
        // What nobody took must not be read any more.
        const std::lock_guard lock(clique->mutex);
        for (auto& [pair, queue] : clique->mail)
            if (pair.first == rank)
                std::erase_if(queue, [&](const Clique::Message* one) {
                    return std::ranges::any_of(messages, [&](const auto& mine) { return &mine == one; });
                });
        throw;
    }
}

void ncclComm::send_all(std::vector<Op>& group, std::deque<Clique::Message>& messages) {
    const std::lock_guard lock(clique->mutex);
    for (const Op& op : group) {
        if (op.kind != Kind::send) continue;
        messages.push_back({op.in, op.count * fake_nccl::bytes_of(op.type), false});
        clique->mail[{rank, op.peer}].push_back(&messages.back());
    }
    clique->changed.notify_all();
}

void ncclComm::receive(const Op& op) {
    std::unique_lock lock(clique->mutex);
    auto& queue = clique->mail[{op.peer, rank}];
    wait(lock, [&] { return !queue.empty(); });
    Clique::Message& message = *queue.front();
    queue.pop_front();
    const size_t wanted = op.count * fake_nccl::bytes_of(op.type);
    // Another size would corrupt memory with NCCL; here it becomes an error of this side.
    if (message.bytes != wanted) {
        state.store(ncclInternalError);
        wait(lock, [] { return false; });
    }
    if (wanted > 0) std::memcpy(op.out, message.data, wanted);
    message.taken = true;
    clique->changed.notify_all();
}

void ncclComm::split(const Op& op) {
    int64_t number = 0;
    {
        std::unique_lock lock(clique->mutex);
        const Clique::Meeting& meeting = meet(lock, op, number);
        if (op.color >= 0) {
            std::vector<std::tuple<int, int>> members;
            for (int r = 0; r < clique->n; ++r)
                if (meeting.brought[static_cast<size_t>(r)].color == op.color)
                    members.emplace_back(meeting.brought[static_cast<size_t>(r)].key, r);
            std::ranges::sort(members);
            auto& part = clique->parts[{number, op.color}];
            if (!part) part = std::make_shared<Clique>(static_cast<int>(members.size()));
            for (size_t i = 0; i < members.size(); ++i)
                if (std::get<1>(members[i]) == rank) op.made->rank = static_cast<int>(i);
            op.made->clique = part;
        }
    }
    leave(number);
    if (op.made != nullptr) op.made->begin({Op{}});
}

void ncclComm::collective(const Op& op) {
    int64_t number = 0;
    const size_t each = fake_nccl::bytes_of(op.type);
    std::vector<unsigned char> result;
    {
        std::unique_lock lock(clique->mutex);
        const Clique::Meeting meeting = meet(lock, op, number);
        lock.unlock();
        std::vector<const unsigned char*> in;
        for (const Op& other : meeting.brought) in.push_back(bytes(other.in));
        switch (op.kind) {
            case Kind::all_reduce:
                result.resize(op.count * each);
                reduce(op.type, op.reduction, in, 0, op.count, result.data());
                break;
            case Kind::reduce:
                if (op.peer != rank) break;
                result.resize(op.count * each);
                reduce(op.type, op.reduction, in, 0, op.count, result.data());
                break;
            case Kind::reduce_scatter:
                result.resize(op.count * each);
                reduce(op.type, op.reduction, in, static_cast<size_t>(rank) * op.count, op.count,
                       result.data());
                break;
            case Kind::broadcast: {
                const unsigned char* root = in[static_cast<size_t>(op.peer)];
                result.assign(root, root + op.count * each);
                break;
            }
            case Kind::all_gather:
                for (const unsigned char* part : in)
                    result.insert(result.end(), part, part + op.count * each);
                break;
            default:
                break;  // init and finalize: that all have come is all
        }
    }
    leave(number);
    if (!result.empty() && op.out != nullptr) std::memcpy(op.out, result.data(), result.size());
}
