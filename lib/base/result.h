// Short forms for passing errors on. Internal: public headers return Result and leave the style to callers.
#pragma once

#include <utility>

#include "dcpctl/error.h"

#define DCPCTL_CONCAT_INNER(a, b) a##b
#define DCPCTL_CONCAT(a, b) DCPCTL_CONCAT_INNER(a, b)

// Returns the error of `expr`, if it has one.
#define DCPCTL_TRY(expr)                                                             \
  do {                                                                               \
    if (auto dcpctl_try = (expr); !dcpctl_try)                                       \
      return ::dcpctl::Fail(std::move(dcpctl_try).error()); /* NOLINT(bugprone-*) */ \
  } while (false)

// `DCPCTL_ASSIGN(auto x, F());` declares x with F's value, or returns F's error.
#define DCPCTL_ASSIGN(lhs, expr) DCPCTL_ASSIGN_IMPL(DCPCTL_CONCAT(dcpctl_result_, __LINE__), lhs, expr)
#define DCPCTL_ASSIGN_IMPL(tmp, lhs, expr)                 \
  auto tmp = (expr);                                       \
  if (!tmp) return ::dcpctl::Fail(std::move(tmp).error()); \
  lhs = std::move(*tmp)
