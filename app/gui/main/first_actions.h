#pragma once

#include <memory>
#include <vector>

#include "app/gui/main/options.h"
#include "app/gui/session/actions.h"
#include "app/gui/session/document.h"

namespace meshscope::gui {

/// What stands beside the document: see session::AppState::runs.
using Beside = std::vector<std::shared_ptr<const session::Document>>;

/// The actions that lead to the state a window or a film starts from. Throws InvalidArgument
/// ("export.no_such_rank", "export.no_such_event") where the document has not what is asked for.
std::vector<session::Action> first_actions(const Options& options,
                                           std::shared_ptr<const session::Document> document,
                                           const Beside& beside = {});

/// What the command line says of where to look in a document: --step, --view, --clock, --rank, --at.
std::vector<session::Action> place_actions(const Options& options, const session::Document& document);

/// Does the first actions.
void set_up(class Stage& stage, const Options& options, std::shared_ptr<const session::Document> document,
            const Beside& beside = {});

}  // namespace meshscope::gui
