#pragma once

// What a test may tell the stand-in for NCCL, by dlsym in the loaded library. Ranks are those of the
// communicator that is called; -1 means any.

extern "C" {
/// The nth call (from 1, counted from now) of `function` ("ncclAllReduce") by `rank` does nothing and returns
/// `code`.
void fake_nccl_fail(const char* function, int rank, int nth, int code);
/// The nth group of calls (from 1, from now) that `rank` begins never ends until it is aborted; its
/// communicator's asynchronous state becomes `code`, or, with 7 (ncclInProgress), stays as it is: it hangs.
void fake_nccl_break(int rank, int nth, int code);
/// Takes back what was told, and sets the counts to 0.
void fake_nccl_reset();
/// How often a function was called since the last reset.
int fake_nccl_calls(const char* function);
/// Buffers that are registered, and communicators that live, at present.
int fake_nccl_buffers();
int fake_nccl_comms();
/// What ncclGetVersion says: 22809, or another.
void fake_nccl_set_version(int version);
}
