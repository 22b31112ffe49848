#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/command.h"
#include "app/cli/mesh_request.h"
#include "core/mesh/answer.h"

namespace meshscope::cli {

/// One question and what it makes; the option says under which key JSON has its answers.
struct Asked {
    RequestOption option;
    mesh::Derived derived;
};

/// {"per_rank": …}: what each rank from `first` up to `last` reads from the mesh and gets of each question.
/// One answer at a time is put together, so that memory holds one only.
void print_mesh_json(const mesh::DeviceMesh& root, const std::vector<Asked>& asked, int64_t first,
                     int64_t last, CommandContext& context);

/// A refusal as such an answer: {"error", "id", "pytorch_error", "pytorch_text"}.
std::string mesh_refusal_json(const Message& refusal, const CommandContext& context);

}  // namespace meshscope::cli
