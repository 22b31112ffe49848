#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/decision.h"
#include "app/launch/node_claim.h"
#include "backends/tcp/store_client.h"
#include "core/base/message.h"

namespace meshscope::launch {

/// How the agents of a job (one a node) find together.
struct MeetingOptions {
    bool leads = true;       ///< it serves the store and decides what all do next
    int32_t node_rank = -1;  ///< wished for; -1: in the order of joining, behind those with a wish
    int32_t workers = 1;     ///< on this node
    int32_t min_nodes = 1, max_nodes = 1;
    int32_t max_restarts = 0;
    std::chrono::milliseconds last_call{2000};   ///< how long the leader waits for more than min_nodes
    std::chrono::milliseconds timeout{600000};   ///< how long for min_nodes
    std::chrono::milliseconds lost_after{5000};  ///< a node that says nothing for so long is gone
    /// What is to be said while it waits unusually long (WaitNotifier): "launch.awaits_nodes" {joined,
    /// needed, missing, endpoint, waited_s, timeout_s}; of a node that has joined "launch.awaits_others"
    /// {waited_s, joined, needed, missing, endpoint}, or where enough have "launch.awaits_begin" {waited_s};
    /// "launch.awaits_room" {most, waited_s, timeout_s}. Must not wait itself.
    std::function<void(const Message&)> tell = [](const Message&) {};
    /// The signal that told this process to stop, or 0; asked while others are waited for.
    std::function<int()> signal = [] { return 0; };
};

/// A round that begins: who takes part, and where this node stands in it.
struct Meeting {
    int32_t round = 0;     ///< from 0; every start of the workers is one
    int32_t restarts = 0;  ///< of them caused by a failed worker
    int32_t node = 0, nodes = 1;
    int32_t first_rank = 0, world_size = 1;
    std::string master_addr;  ///< of the node of rank 0
    int32_t master_port = 0;  ///< a free port there, for whoever wants one
};

/// The agents' common mind, by keys in the rendezvous store. torchrun's rules, as its code has them
/// (torch/distributed/elastic/agent/server/api.py): a failed worker, whichever and wherever, makes all
/// workers of all nodes stop and start again, max_restarts times; nodes that come or go make them start again
/// too, and do not count. Ranks may change from round to round, and so may the world size.
///
/// Throws CommError "tcp.store_lost" where the leader is gone, "launch.nodes_missing" {joined, needed,
/// missing, endpoint, waited_ms}, "launch.no_room" {most}; Cancelled "launch.stopped_waiting";
/// InvalidArgument "launch.workers_differ" {theirs, ours} where this node does not start as many as the
/// leader, "launch.node_rank_taken" {node_rank, host}.
class Rendezvous {
  public:
    Rendezvous(backends::tcp::StoreClient& store, MeetingOptions options);

    /// Joins the next round; returns when it begins.
    Meeting meet(int32_t free_port);
    /// For RoundOptions::ask: says that this node lives, and answers whether all are to stop.
    bool must_stop();
    /// Tells how the round went here; returns when the leader has decided.
    Decision decide(const RoundResult& here);

  private:
    struct Node {
        std::string host;
        int32_t workers = 0, wish = -1, port = 0;
    };
    std::string key(const std::string& name) const;
    std::string get(const std::string& name);
    void beat();
    /// Of a node that no round has taken: says so again and again, as it may give up.
    void ask_for_room();
    bool is_asked_for_room();
    /// A moment, while others are waited for.
    void pause_or_stop();
    /// Whether a node has said nothing for too long, time in which this process did not look (it may have
    /// been stopped with all the others, as a suspended job is) not counted. Asked again and again.
    bool is_lost(int32_t index);
    /// Who has joined this round and still waits for its begin; as many as there is room for.
    std::vector<int32_t> joined();
    /// Of a node that does not lead: throws "launch.workers_differ" unless it starts as many as the leader.
    void compare_workers();
    /// The numbers below min_nodes that nobody has who is here.
    std::vector<int64_t> missing(const std::vector<int32_t>& here);
    /// Tells those who have joined whom the leader waits for; nobody where `here` is empty.
    void say_awaited(const std::vector<int32_t>& here);
    Message awaits_begin(std::chrono::milliseconds waited);
    /// Of how many nodes are here and which numbers below min_nodes nobody has.
    Message about_missing(const char* id, const std::vector<int32_t>& here);
    void lead_joining();
    Decision lead_decision();
    /// The store goes with the leader: it stays until the others have read how it ends, if they still live.
    void wait_for_readers();
    std::optional<Node> node_of(int32_t index);

    backends::tcp::StoreClient& store_;
    MeetingOptions options_;
    NodeClaim claim_;
    std::string awaited_;        ///< what say_awaited() said last
    std::string waiting_;        ///< what who asks for room had said when the round began
    bool is_expecting_ = false;  ///< somebody asked for room in the last round
    int32_t round_ = 0, restarts_ = 0;
    int32_t index_ = 0;           ///< in the order of joining this round
    std::vector<int32_t> table_;  ///< indices of those who take part, by node
    struct Heartbeat {
        std::string value;
        std::chrono::steady_clock::time_point changed;
    };
    std::map<int32_t, Heartbeat> heartbeats_;
    std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();  ///< at heartbeats
    std::chrono::steady_clock::time_point beaten_{};
    int64_t beats_ = 0;
};

}  // namespace meshscope::launch
