// What a plug-in for communication offers: messages between the processes of a run, no more than a program needs that
// makes everything else of them. All calls come from one thread, the one that opens. Functions return 0, or anything
// else and what went wrong in `error`; after a failure only `abort` is of use.
#pragma once

#include <cstdint>

#include "plugin/abi.h"

namespace dcpctl::plugin {

inline constexpr char kCommKind[] = "comm";

struct CommMessage {
  int32_t from;
  int32_t tag;
  int32_t bytes;
};

struct CommV1 {
  int (*open)(int32_t* rank, int32_t* size, ErrorTextV1* error);
  // The bytes are the library's until `is_done` has said that it is done with them, which ends the transfer.
  int (*start_send)(int32_t to, int32_t tag, const void* bytes, int32_t length, void** transfer, ErrorTextV1* error);
  // A message that has come, if there is one; those of one sender come in their order. Its bytes may still be on their
  // way, and never arrive when the sender is gone. It is found again until its receipt is started.
  int (*probe)(CommMessage* message, int32_t* found, ErrorTextV1* error);
  int (*start_receive)(const CommMessage* message, void* bytes, void** transfer, ErrorTextV1* error);
  int (*is_done)(void* transfer, int32_t* done, ErrorTextV1* error);
  // Whether start_receive can be given the address of memory of a CUDA device, one that is current on the thread. Once
  // open.
  int32_t (*takes_cuda)();
  // Waits for the others to close.
  int (*close)(ErrorTextV1* error);
  // Ends all processes of the run, and does not return.
  void (*abort)(int32_t status);
};

}  // namespace dcpctl::plugin
