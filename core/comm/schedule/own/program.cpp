#include "core/comm/schedule/own/program.h"

#include <algorithm>

#include "core/comm/parts.h"

namespace meshscope::comm::own {
namespace {

/// Where the chunks of a call lie in its full buffer.
std::vector<Part> cut_of(const Program& program, const ScheduleQuery& query) {
    const auto whole = [&] { return chunk_parts(query.elements, program.chunks); };
    std::span<const Part> parts;
    if (program.op == CollectiveOp::all_gather)
        parts = query.out_parts;
    else if (program.op == CollectiveOp::reduce_scatter || program.op == CollectiveOp::all_to_all)
        parts = query.in_parts;
    else
        return whole();
    std::vector<Part> cut;
    for (const Part& part : parts)
        for (const Part& each : chunk_parts(part.elements, program.chunks / program.ranks))
            cut.push_back({part.first + each.first, each.elements});
    return cut;
}

/// Says a program's steps for one call.
class Saying {
  public:
    Saying(const Program& program, const ScheduleQuery& query, const StepSink& sink,
           std::vector<int32_t>* lines)
        : program_(program), query_(query), sink_(sink), lines_(lines), cut_(cut_of(program, query)) {
        for (const Part& each : cut_) largest_ = std::max(largest_, each.elements);
        // A broadcast and a reduce are written for root 0; from another root on, ranks are counted around.
        const bool turns = program.op == CollectiveOp::broadcast || program.op == CollectiveOp::reduce;
        root_ = turns ? query.root : 0;
        me_ = (query.rank - root_ + program.ranks) % program.ranks;
    }

    void all() {
        begin();
        const RankSteps& mine = program_.by_rank[static_cast<std::size_t>(me_)];
        for (const FileStep& each : mine.steps) {
            line_ = each.line;
            step(each, mine.carried.data() + each.carried);
        }
        line_ = -1;
        end();
    }

  private:
    using Kind = Step::Kind;
    int64_t n() const { return query_.elements; }
    bool at_root() const { return me_ == 0; }
    Stretch output() const { return {Stretch::kOutput, 0, n()}; }
    Stretch input() const { return {Stretch::kInput, 0, n()}; }
    int32_t each_rank() const { return program_.chunks / program_.ranks; }
    /// The rank's own part of the full buffer.
    Part own_part() const {
        const auto first = static_cast<std::size_t>(me_ * each_rank());
        Part part{cut_[first].first, 0};
        for (int32_t i = 0; i < each_rank(); ++i)
            part.elements += cut_[first + static_cast<std::size_t>(i)].elements;
        return part;
    }

    Stretch scratch(int64_t elements) {
        say({.kind = Kind::scratch, .elements = elements});
        return {Stretch::kScratch + n_scratch_++, 0, elements};
    }
    void copy(const Stretch& to, const Stretch& from) {
        say({.kind = Kind::copy, .elements = to.elements, .to = std::span(&to, 1), .own = from});
    }
    Stretch copied(const Stretch& from) {
        const Stretch made = scratch(from.elements);
        copy(made, from);
        return made;
    }

    void begin() {
        data_ = output();
        input_ = input();
        output_ = output();
        switch (program_.op) {
            case CollectiveOp::all_reduce:
                if (program_.input_is_kept) input_ = copied(output());
                break;
            case CollectiveOp::reduce:
                if (at_root())
                    copy(data_, input());
                else
                    data_ = copied(input());
                break;
            case CollectiveOp::reduce_scatter:
                data_ = copied(input());
                break;
            case CollectiveOp::all_to_all:
                if (program_.result_in_data) data_ = copied(input());
                break;
            default:
                break;
        }
        if (program_.scratch > 0) scratch_ = scratch(program_.scratch * largest_);
    }

    void end() {
        Stretch result = output();
        if (program_.op == CollectiveOp::reduce_scatter) {
            const Part part = own_part();
            result = {Stretch::kOutput, 0, part.elements};
            if (program_.result_in_data) copy(result, data_.part(part));
        }
        if (program_.op == CollectiveOp::all_to_all && program_.result_in_data) copy(result, data_);
        const bool reduces = program_.op == CollectiveOp::all_reduce ||
                             program_.op == CollectiveOp::reduce_scatter ||
                             (program_.op == CollectiveOp::reduce && at_root());
        if (reduces) say({.kind = Kind::finish, .elements = result.elements, .to = std::span(&result, 1)});
    }

    int64_t size(int32_t chunk) const {
        if (chunk < 0) return 0;
        return cut_[static_cast<std::size_t>(chunk % program_.chunks)].elements;
    }
    /// A slot's beginning. Slots of scratch are as large as the largest chunk.
    Stretch at(Place place, int32_t slot) const {
        switch (place) {
            case Place::input:
                return input_.part(cut_[static_cast<std::size_t>(slot)]);
            case Place::output:
                if (program_.op == CollectiveOp::reduce_scatter) {
                    const Part& part = cut_[static_cast<std::size_t>(me_ * each_rank() + slot)];
                    return output_.part(part.first - own_part().first, part.elements);
                }
                return output_.part(cut_[static_cast<std::size_t>(slot)]);
            case Place::scratch:
                return scratch_.part(slot * largest_, largest_);
            case Place::data:
                break;
        }
        return data_.part(cut_[static_cast<std::size_t>(slot)]);
    }
    /// The stretches of some slots, those side by side as one; never none.
    void stretches(const Chunks& chunks, const int32_t* carried, std::vector<Stretch>& found) const {
        found.clear();
        for (int32_t i = 0; i < chunks.count; ++i) {
            Stretch each = at(chunks.place, chunks.first + i);
            each.elements = size(carried[i]);
            if (!found.empty() &&
                (each.elements == 0 || found.back().first + found.back().elements == each.first))
                found.back().elements += each.elements;
            else
                found.push_back(each);
        }
    }
    /// The same of two lists of slots, cut alike.
    void pairs(const FileStep& file, const int32_t* carried) {
        to_.clear();
        from_.clear();
        for (int32_t i = 0; i < file.chunks.count; ++i) {
            Stretch to = at(file.chunks.place, file.chunks.first + i),
                    own = at(file.own.place, file.own.first + i);
            to.elements = own.elements = size(carried[i]);
            if (!to_.empty() &&
                (to.elements == 0 || (to_.back().first + to_.back().elements == to.first &&
                                      from_.back().first + from_.back().elements == own.first))) {
                to_.back().elements += to.elements;
                from_.back().elements += to.elements;
            } else {
                to_.push_back(to);
                from_.push_back(own);
            }
        }
    }

    /// A message as the record names it, chunk by chunk; nothing where the step's own chunk and offset say
    /// all.
    std::span<const trace::HopPiece> pieces(int32_t count, const int32_t* carried) {
        pieces_.clear();
        for (int32_t i = 0; i < count; ++i) {
            const int32_t chunk = std::max(carried[i], 0);
            const int64_t offset = cut_[static_cast<std::size_t>(offset_chunk(chunk))].first;
            pieces_.push_back({named(chunk), passes_through(chunk) ? -1 : offset, size(carried[i])});
        }
        if (count == 1 && pieces_.front().offset >= 0) pieces_.clear();
        return pieces_;
    }
    /// A part of an all_to_all that goes on to another rank.
    bool passes_through(int32_t chunk) const {
        return program_.op == CollectiveOp::all_to_all && chunk % program_.chunks / each_rank() != me_;
    }

    void step(const FileStep& file, const int32_t* carried) {
        const int32_t chunk = std::max(carried[0], 0);
        Step step{.kind = file.kind,
                  .peer = (file.peer + root_) % program_.ranks,
                  .round = file.round,
                  .chunk = named(chunk),
                  .offset = cut_[static_cast<std::size_t>(offset_chunk(chunk))].first,
                  .packed = file.packed,
                  .is_added = file.is_added};
        for (int32_t i = 0; i < file.chunks.count; ++i) step.elements += size(carried[i]);
        if (file.kind == Kind::receive || file.kind == Kind::reduce)
            step.pieces = pieces(file.chunks.count, carried);
        switch (file.kind) {
            case Kind::send:
                stretches(file.chunks, carried, from_);
                step.from = from_;
                return say(step);
            case Kind::receive:
                stretches(file.chunks, carried, to_);
                step.to = to_;
                return say(step);
            case Kind::reduce:
                pairs(file, carried);
                step.to = to_;
                step.own = from_.front();
                if (to_.size() > 1) step.from = from_;
                return say(step);
            default:
                pairs(file, carried);
                for (std::size_t i = 0; i < to_.size(); ++i) {
                    step.elements = to_[i].elements;
                    step.to = std::span(&to_[i], 1);
                    step.own = from_[i];
                    say(step);
                }
        }
    }
    /// As trace::Hop counts: a part by its rank, an all_to_all's by its sender.
    int32_t named(int32_t chunk) const {
        if (program_.op == CollectiveOp::all_to_all) return chunk / program_.chunks;
        const bool by_part =
            program_.op == CollectiveOp::all_gather || program_.op == CollectiveOp::reduce_scatter;
        return by_part ? chunk / each_rank() : chunk;
    }
    int32_t offset_chunk(int32_t chunk) const {
        if (program_.op != CollectiveOp::all_to_all) return chunk;
        return chunk / program_.chunks * each_rank() + chunk % program_.chunks % each_rank();
    }

    void say(const Step& step) {
        if (lines_ != nullptr) lines_->push_back(line_);
        sink_(step);
    }

    const Program& program_;
    const ScheduleQuery& query_;
    const StepSink& sink_;
    std::vector<int32_t>* lines_;
    std::vector<Part> cut_;
    std::vector<Stretch> from_, to_;
    std::vector<trace::HopPiece> pieces_;
    Stretch data_, input_, output_, scratch_;
    int64_t largest_ = 0;
    int32_t root_ = 0, me_ = 0, n_scratch_ = 0, line_ = -1;
};

}  // namespace

int32_t Program::say(const ScheduleQuery& query, const StepSink& sink, std::vector<int32_t>* lines) const {
    Saying(*this, query, sink, lines).all();
    return rounds;
}

}  // namespace meshscope::comm::own
