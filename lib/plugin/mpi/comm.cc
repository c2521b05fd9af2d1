// CommV1 by MPI. One source for every library: each is compiled with its own mpi.h.
#include <dlfcn.h>
#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <cstdio>
#include <memory>
#include <utility>

#include "plugin/abi.h"
#include "plugin/comm.h"

// The plug-in may run with a build of the library that lacks what the one had that it was built with.
#ifdef MPIX_CUDA_AWARE_SUPPORT
#pragma weak MPIX_Query_cuda_support
#endif
#ifdef MPIX_GPU_SUPPORT_CUDA
#pragma weak MPIX_GPU_query_support
#endif

namespace dcpctl::plugin {
namespace {

int Check(int code, const char* action, ErrorTextV1* error) {
  if (code == MPI_SUCCESS) return 0;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, text, &length) != MPI_SUCCESS) text[0] = '\0';
  (void)std::snprintf(error->text, sizeof error->text, "%s: %.200s", action, text);
  return 1;
}

// Open MPI finds parts of its own at run time, which look for its symbols among those of the whole program, and a
// plug-in is opened with its symbols to itself.
void ShareSymbols() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &info) != 0 && info.dli_fname != nullptr)
    (void)dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

int Open(int32_t* rank, int32_t* size, ErrorTextV1* error) {
  ShareSymbols();
  int provided = 0;
  // One thread of several calls MPI: this one.
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided); code != MPI_SUCCESS)
    return Check(code, "MPI_Init_thread", error);
  if (provided < MPI_THREAD_FUNNELED) {
    (void)std::snprintf(error->text, sizeof error->text, "MPI allows a program one thread alone, expected several");
    return 1;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (const int failed = Check(MPI_Comm_rank(MPI_COMM_WORLD, rank), "MPI_Comm_rank", error)) return failed;
  return Check(MPI_Comm_size(MPI_COMM_WORLD, size), "MPI_Comm_size", error);
}

int Start(int code, const char* action, std::unique_ptr<MPI_Request> request, void** transfer, ErrorTextV1* error) {
  if (code != MPI_SUCCESS) return Check(code, action, error);
  *transfer = request.release();
  return 0;
}

int StartSend(int32_t to, int32_t tag, const void* bytes, int32_t length, void** transfer, ErrorTextV1* error) {
  auto request = std::make_unique<MPI_Request>();
  const int code = MPI_Isend(bytes, length, MPI_BYTE, to, tag, MPI_COMM_WORLD, request.get());
  return Start(code, "MPI_Isend", std::move(request), transfer, error);
}

int Probe(CommMessage* message, int32_t* found, ErrorTextV1* error) {
  MPI_Status status;
  int there = 0;
  const int code = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
  *found = there;
  if (code != MPI_SUCCESS || there == 0) return Check(code, "MPI_Iprobe", error);
  message->from = status.MPI_SOURCE;
  message->tag = status.MPI_TAG;
  return Check(MPI_Get_count(&status, MPI_BYTE, &message->bytes), "MPI_Get_count", error);
}

int StartReceive(const CommMessage* message, void* bytes, void** transfer, ErrorTextV1* error) {
  auto request = std::make_unique<MPI_Request>();
  const int code =
      MPI_Irecv(bytes, message->bytes, MPI_BYTE, message->from, message->tag, MPI_COMM_WORLD, request.get());
  return Start(code, "MPI_Irecv", std::move(request), transfer, error);
}

int IsDone(void* transfer, int32_t* done, ErrorTextV1* error) {
  auto* const request = static_cast<MPI_Request*>(transfer);
  int is_done = 0;
  const int code = MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
  *done = is_done;
  if (code == MPI_SUCCESS && is_done == 0) return 0;
  delete request;
  return Check(code, "MPI_Test", error);
}

// What the library says that runs, not the one that the plug-in was built with. Open MPI and MPICH have a function
// each.
int32_t TakesCuda() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support != nullptr && MPIX_Query_cuda_support() == 1 ? 1 : 0;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
  int takes = 0;
  if (MPIX_GPU_query_support == nullptr || MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &takes) != MPI_SUCCESS)
    return 0;
  return takes;
#else
  return 0;
#endif
}

int Close(ErrorTextV1* error) { return Check(MPI_Finalize(), "MPI_Finalize", error); }

void Abort(int32_t status) { MPI_Abort(MPI_COMM_WORLD, status); }

const CommV1 kTable = {.open = Open,
                       .start_send = StartSend,
                       .probe = Probe,
                       .start_receive = StartReceive,
                       .is_done = IsDone,
                       .takes_cuda = TakesCuda,
                       .close = Close,
                       .abort = Abort};

}  // namespace
}  // namespace dcpctl::plugin

DCPCTL_PLUGIN(dcpctl::plugin::kCommKind, DCPCTL_MPI_LIBRARY, &dcpctl::plugin::kTable);
