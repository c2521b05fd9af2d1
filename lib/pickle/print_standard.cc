// How types of Python's standard library look: what they are pickled as, and their repr.
#include <algorithm>
#include <array>

#include "pickle/big_int.h"
#include "pickle/printer.h"
#include "pickle/repr.h"

namespace dcpctl::pickle {
namespace {

constexpr size_t kMaxSortedCounter = 1000;  // larger ones are printed in their own order
constexpr size_t kUuidBytes = 16;
constexpr size_t kMostOfAUuid = 16;    // attributes that are looked through; CPython writes two at most
constexpr size_t kTimeDeltaParts = 3;  // days, seconds, microseconds
constexpr std::string_view kHexDigits = "0123456789abcdef";

bool ArgsAre(Value object, size_t least, size_t most) {
  const Value args = object.args();
  return args.Is(Kind::kTuple) && args.size() >= least && args.size() <= most;
}

bool AllInts(Value tuple) {
  for (size_t i = 0; i < tuple.size(); ++i) {
    if (!tuple[i].Is(Kind::kInt)) return false;
  }
  return true;
}

// State of dates and times; Python 2 wrote it as str.
std::optional<std::string> StateBytes(Value value, size_t count) {
  std::optional<std::string> bytes =
      value.Is(Kind::kString) ? std::string(value.AsText().substr(0, count + 1)) : AsBytes(value, count + 1);
  if (!bytes || bytes->size() != count) return std::nullopt;
  return bytes;
}

int64_t ByteAt(std::string_view bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

}  // namespace

std::span<const Printer::Known> StandardTypes::Table() {
  static constexpr std::array kTable = {
      Printer::Known{"collections", "OrderedDict", &Printer::OrderedDict},
      Printer::Known{"collections", "defaultdict", &Printer::DefaultDict},
      Printer::Known{"collections", "Counter", &Printer::Counter},
      Printer::Known{"collections", "deque", &Printer::Deque},
      Printer::Known{"builtins", "complex", &Printer::Complex},
      Printer::Known{"builtins", "set", &Printer::Set},
      Printer::Known{"builtins", "frozenset", &Printer::FrozenSet},
      Printer::Known{"builtins", "bytearray", &Printer::ByteArray},
      Printer::Known{"builtins", "bytes", &Printer::Encoded},
      Printer::Known{"_codecs", "encode", &Printer::Encoded},
      Printer::Known{"builtins", "range", &Printer::Range},
      Printer::Known{"builtins", "type", &Printer::TypeOf},
      Printer::Known{"builtins", "getattr", &Printer::GetAttr},
      Printer::Known{"datetime", "date", &Printer::Date},
      Printer::Known{"datetime", "datetime", &Printer::DateTime},
      Printer::Known{"datetime", "time", &Printer::Time},
      Printer::Known{"datetime", "timedelta", &Printer::TimeDelta},
      Printer::Known{"datetime", "timezone", &Printer::TimeZone},
      Printer::Known{"pathlib", "PosixPath", &Printer::Path},
      Printer::Known{"pathlib", "WindowsPath", &Printer::Path},
      Printer::Known{"pathlib", "PurePosixPath", &Printer::Path},
      Printer::Known{"pathlib", "PureWindowsPath", &Printer::Path},
      Printer::Known{"pathlib._local", "PosixPath", &Printer::Path},
      Printer::Known{"pathlib._local", "WindowsPath", &Printer::Path},
      Printer::Known{"functools", "partial", &Printer::Partial},
      Printer::Known{"argparse", "Namespace", &Printer::Namespace},
      Printer::Known{"types", "SimpleNamespace", &Printer::SimpleNamespace},
      Printer::Known{"uuid", "UUID", &Printer::Uuid},
  };
  return kTable;
}

bool Printer::OrderedDict(Value object) {
  if (!ArgsAre(object, 0, 1)) return false;
  Pairs pairs;
  if (object.args().size() == 1) {  // Python 2: a list of [key, value]
    const Value items = object.args()[0];
    if (!items.Is(Kind::kList)) return false;
    for (size_t i = 0; i < Wanted(items.size()); ++i) {
      const Value pair = items[i];
      if ((!pair.Is(Kind::kList) && !pair.Is(Kind::kTuple)) || pair.size() != 2) return false;
      pairs.emplace_back(pair[0], pair[1]);
    }
  }
  std::ranges::move(SetItemsOf(object), std::back_inserter(pairs));
  Text("OrderedDict(");
  if (!pairs.empty()) PrintDict(pairs);
  Text(")");
  return true;
}

bool Printer::DefaultDict(Value object) {
  if (!ArgsAre(object, 0, 1)) return false;
  Text("defaultdict(");
  if (object.args().size() == 1) {
    Print(object.args()[0]);
  } else {
    Text("None");
  }
  Text(", ");
  PrintDict(SetItemsOf(object));
  Text(")");
  return true;
}

// Python prints the most common first.
bool Printer::Counter(Value object) {
  if (!ArgsAre(object, 0, 1) || object.operation_count() != 0) return false;
  Pairs pairs;
  if (object.args().size() == 1) {
    const Value counts = object.args()[0];
    if (!counts.Is(Kind::kDict)) return false;
    bool sortable = counts.size() <= kMaxSortedCounter;
    for (size_t i = 0; sortable && i < counts.size(); ++i) {
      sortable = counts.value(i).Is(Kind::kInt);
      pairs.emplace_back(counts.key(i), counts.value(i));
    }
    const auto count_of = [](const auto& pair) { return pair.second.AsInt(); };
    if (sortable) {
      std::ranges::stable_sort(pairs, std::ranges::greater(), count_of);
    } else {
      pairs = PairsOf(counts);
    }
  }
  Text("Counter(");
  if (!pairs.empty()) PrintDict(pairs);
  Text(")");
  return true;
}

bool Printer::Deque(Value object) {
  if (!ArgsAre(object, 0, 2)) return false;
  const Value args = object.args();
  if (args.size() > 0 && (!args[0].Is(Kind::kTuple) || args[0].size() != 0)) return false;
  Text("deque([");
  PrintItems(AppendedTo(object));
  Text("]");
  if (args.size() == 2) {
    Text(", maxlen=");
    Print(args[1]);
  }
  Text(")");
  return true;
}

bool Printer::Complex(Value object) {
  if (!ArgsAre(object, 2, 2)) return false;
  const Value args = object.args();
  if (!args[0].Is(Kind::kFloat) || !args[1].Is(Kind::kFloat)) return false;
  AppendComplex(out_, args[0].AsFloat(), args[1].AsFloat());
  return true;
}

bool Printer::CollectionOf(Value object, std::string_view name) {
  if (!ArgsAre(object, 0, 1) || object.operation_count() != 0) return false;
  const Value args = object.args();
  if (args.size() == 1 && !args[0].Is(Kind::kList)) return false;
  const bool is_empty = args.size() == 0 || args[0].size() == 0;
  const bool is_set = name == "set";
  if (is_empty || !is_set) Text(name), Text("(");
  if (!is_empty) {
    Text("{");
    PrintItems(args[0]);
    Text("}");
  }
  if (is_empty || !is_set) Text(")");
  return true;
}

bool Printer::Set(Value object) { return CollectionOf(object, "set"); }
bool Printer::FrozenSet(Value object) { return CollectionOf(object, "frozenset"); }

bool Printer::ByteArray(Value object) {
  if (!ArgsAre(object, 0, 1) || object.operation_count() != 0) return false;
  const Value args = object.args();
  const std::optional<std::string> bytes = args.size() == 0 ? std::string() : AsBytes(args[0], Budget());
  if (!bytes) return false;
  Text("bytearray(");
  AppendBytes(out_, *bytes, Budget());
  Text(")");
  return true;
}

bool Printer::Encoded(Value object) {
  const std::optional<std::string> bytes = AsBytes(object, Budget());
  if (bytes) AppendBytes(out_, *bytes, Budget());
  return bytes.has_value();
}

bool Printer::Range(Value object) {
  if (!ArgsAre(object, 3, 3) || !AllInts(object.args())) return false;
  const Value args = object.args();
  Text("range(");
  Int(args[0].AsInt());
  Text(", ");
  Int(args[1].AsInt());
  if (args[2].AsInt() != 1) {
    Text(", ");
    Int(args[2].AsInt());
  }
  Text(")");
  return true;
}

// The classes of None, Ellipsis and NotImplemented have no name to import them by.
bool Printer::TypeOf(Value object) {
  if (!ArgsAre(object, 1, 1)) return false;
  const Value arg = object.args()[0];
  if (!arg.Is(Kind::kNone) && !arg.IsGlobal("builtins", "Ellipsis") && !arg.IsGlobal("builtins", "NotImplemented"))
    return false;
  Text("<class '");
  Text(TypeName(arg));
  Text("'>");
  return true;
}

bool Printer::GetAttr(Value object) {
  if (!ArgsAre(object, 2, 2) || !object.args()[1].Is(Kind::kString)) return false;
  const Value owner = object.args()[0];
  if (owner.Is(Kind::kGlobal)) {
    PrintName(owner);
  } else {
    Print(owner);
  }
  Text(".");
  Text(object.args()[1].AsText());
  return true;
}

bool Printer::Date(Value object) {
  if (!ArgsAre(object, 1, 1)) return false;
  const std::optional<std::string> state = StateBytes(object.args()[0], 4);
  if (!state) return false;
  Text("datetime.date(");
  Int(ByteAt(*state, 0) << 8 | ByteAt(*state, 1));
  for (const size_t i : {2u, 3u}) Text(", "), Int(ByteAt(*state, i));
  Text(")");
  return true;
}

// Hour and minute, and of second and microsecond (three bytes, big-endian) what is not zero.
void Printer::TimeOfDay(std::string_view bytes, size_t printed) {
  const int64_t microsecond = ByteAt(bytes, 3) << 16 | ByteAt(bytes, 4) << 8 | ByteAt(bytes, 5);
  const std::array fields = {ByteAt(bytes, 0), ByteAt(bytes, 1), ByteAt(bytes, 2), microsecond};
  const size_t count = microsecond != 0 ? 4 : fields[2] != 0 ? 3 : 2;
  for (size_t i = 0; i < count; ++i) {
    if (printed + i > 0) Text(", ");
    Int(fields[i]);
  }
}

void Printer::TimeTail(Value args, bool fold) {
  if (fold) Text(", fold=1");
  if (args.size() == 2) {
    Text(", tzinfo=");
    Print(args[1]);
  }
  Text(")");
}

// Protocol 4 keeps `fold` in the top bit of the month.
bool Printer::DateTime(Value object) {
  if (!ArgsAre(object, 1, 2)) return false;
  const std::optional<std::string> state = StateBytes(object.args()[0], 10);
  if (!state) return false;
  Text("datetime.datetime(");
  Int(ByteAt(*state, 0) << 8 | ByteAt(*state, 1));
  Text(", ");
  Int(ByteAt(*state, 2) & 0x7f);
  Text(", ");
  Int(ByteAt(*state, 3));
  TimeOfDay(std::string_view(*state).substr(4), 3);
  TimeTail(object.args(), (ByteAt(*state, 2) & 0x80) != 0);
  return true;
}

bool Printer::Time(Value object) {
  if (!ArgsAre(object, 1, 2)) return false;
  std::optional<std::string> state = StateBytes(object.args()[0], 6);
  if (!state) return false;
  const bool fold = (ByteAt(*state, 0) & 0x80) != 0;
  (*state)[0] &= 0x7f;
  Text("datetime.time(");
  TimeOfDay(*state, 0);
  TimeTail(object.args(), fold);
  return true;
}

bool Printer::TimeDelta(Value object) {
  if (!ArgsAre(object, 3, 3) || !AllInts(object.args())) return false;
  constexpr std::array<std::string_view, kTimeDeltaParts> kNames = {"days=", "seconds=", "microseconds="};
  const Value args = object.args();
  Text("datetime.timedelta(");
  bool any = false;
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (args[i].AsInt() == 0) continue;
    if (any) Text(", ");
    Text(kNames[i]);
    Int(args[i].AsInt());
    any = true;
  }
  Text(any ? ")" : "0)");
  return true;
}

bool Printer::TimeZone(Value object) {
  if (!ArgsAre(object, 1, 2)) return false;
  const Value args = object.args();
  const auto is_zero = [](Value tuple) {
    if (tuple.size() > kTimeDeltaParts) return false;
    for (size_t i = 0; i < tuple.size(); ++i) {
      if (!tuple[i].Is(Kind::kInt) || tuple[i].AsInt() != 0) return false;
    }
    return true;
  };
  const bool is_utc = args.size() == 1 && args[0].IsCallOf("datetime", "timedelta") && is_zero(args[0].args());
  Text(is_utc ? "datetime.timezone.utc" : "datetime.timezone(");
  if (is_utc) return true;
  PrintItems(args);
  Text(")");
  return true;
}

// Pickled as the parts of the path, from CPython 3.13 on as the whole.
bool Printer::Path(Value object) {
  if (!object.args().Is(Kind::kTuple)) return false;
  const Value parts = object.args();
  std::string path;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i].Is(Kind::kString)) return false;
    if (!path.empty() && path.back() != '/' && path.back() != '\\') path += '/';
    path += parts[i].AsText().substr(0, Budget());
    if (path.size() > Budget()) break;
  }
  if (path.empty()) path.push_back('.');
  const std::string_view name =
      object.callable().Is(Kind::kGlobal) ? object.callable().name() : std::string_view("Path");
  if (name.ends_with("WindowsPath")) std::ranges::replace(path, '\\', '/');
  Text(name);
  Text("(");
  AppendString(out_, path, Budget());
  Text(")");
  return true;
}

// The state is (function, arguments, keyword arguments, attributes); the call has the function only.
bool Printer::Partial(Value object) {
  const std::optional<Value> state = object.state();
  if (!state || !state->Is(Kind::kTuple) || state->size() != 4) return false;
  const Value args = (*state)[1];
  const Value kwargs = (*state)[2];
  if (!args.Is(Kind::kTuple) || (!kwargs.Is(Kind::kDict) && !kwargs.Is(Kind::kNone))) return false;
  Text("functools.partial(");
  Print((*state)[0]);
  if (args.size() > 0) Text(", ");
  PrintItems(args);
  if (kwargs.Is(Kind::kDict)) PrintNamed(PairsOf(kwargs), 1 + args.size());
  Text(")");
  return true;
}

bool Printer::AttributesOf(Value object, std::string_view name) {
  const std::optional<Value> state = object.state();
  if (state && !state->Is(Kind::kDict)) return false;
  Text(name);
  Text("(");
  if (state) PrintNamed(PairsOf(*state));
  Text(")");
  return true;
}

bool Printer::Namespace(Value object) { return AttributesOf(object, "Namespace"); }
bool Printer::SimpleNamespace(Value object) { return AttributesOf(object, "namespace"); }

bool Printer::Uuid(Value object) {
  const std::optional<Value> state = object.state();
  const bool has_number = state && state->Is(Kind::kDict) && state->size() <= kMostOfAUuid;
  const std::optional<Value> number = has_number ? state->Find("int") : std::nullopt;
  if (!number || (!number->Is(Kind::kInt) && !number->Is(Kind::kBigInt))) return false;
  std::string bytes = number->Is(Kind::kInt) ? BigIntFromInt64(number->AsInt()) : std::string(number->AsText());
  if (bytes.size() > kUuidBytes + 1) return false;
  bytes.resize(kUuidBytes);
  Text("UUID('");
  for (size_t i = kUuidBytes; i-- > 0;) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    out_ += kHexDigits[byte >> 4];
    out_ += kHexDigits[byte & 0xf];
    if (i == 12 || i == 10 || i == 8 || i == 6) Text("-");
  }
  Text("')");
  return true;
}

}  // namespace dcpctl::pickle
