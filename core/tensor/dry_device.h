#pragma once

#include <memory>

#include "core/tensor/device.h"

namespace meshscope::tensor {

/// A device that pretends: allocations are addresses of their own whose memory nobody touches (they read 0
/// and take physical memory only where somebody writes), and kernels check their shapes and do nothing. What
/// a rank asks of it, in which order and how much, is what it would ask of a real one.
///
/// Throws as Device says, but only when the address space is full. Cost: below 64 KiB one calloc, else one
/// mmap.
std::unique_ptr<Device> make_dry_device();

/// Whether it is one. For core/tensor/strided_parts.h alone: whoever calls kernels does the same on every
/// device.
bool does_nothing(const Device& device);

}  // namespace meshscope::tensor
