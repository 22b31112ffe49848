#pragma once

#include <string>
#include <vector>

#include "core/base/diagnosis.h"

namespace meshscope {

// Parts of a call in words, beside signature() and describe(); the same in every language.

/// A group's name; its ranks, folded, where it has none, as one that new_group made of a list.
std::string group_text(const CallReport& call);

/// Where a call was made: ", step 2 backward, core/x.cpp:80".
std::string origin(const CallReport& call);

/// The call that a diagnosis is about: the first that somebody is in; one without an op where nobody is.
const CallReport& common_call(const Diagnosis& diagnosis);

}  // namespace meshscope
