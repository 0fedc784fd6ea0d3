#include "hocket/runtime/calls.h"

#include <algorithm>

#include "hocket/base/error.h"

namespace hocket {
namespace {

using comm::Kind;

std::int64_t row_elements(const Type& type) {
  std::int64_t n = 1;
  for (std::size_t i = 1; i < type.shape.size(); ++i) n *= type.shape[i];
  return n;
}

/// The rows that an all_to_all sends to each of `ranks` or receives from it. Equal shares are
/// listed, too, because the rows of a tensor without elements could not be derived from its size.
Ints rows_for_each(const Ints& given, const Type& operand, int ranks) {
  return given.empty() ? Ints(static_cast<std::size_t>(ranks), operand.shape[0] / ranks) : given;
}

void require_row_major(const View& v) {
  if (v.type.elements() > 0 && !v.layout.is_row_major())
    fail("a member of a collective lies as {}, wanted row-major", to_text(v.layout));
}

/// Makes members one by one.
class Maker {
 public:
  Maker(const Op& op, const Attributes& attributes, std::span<const View> operands,
        std::span<const View> results, int ranks)
      : op_(op),
        attributes_(attributes),
        operands_(operands),
        results_(results),
        ranks_(ranks),
        kind_(op.collective->kind) {}

  /// What decides on the call that a member belongs to.
  DType dtype(std::size_t i) const {
    return (results_.empty() ? operands_ : results_)[i].type.dtype;
  }

  comm::Member member(std::size_t i, Calls& out) const {
    comm::Member m;
    if (kind_ != Kind::send) {
      require_row_major(results_[i]);
      m.recv = results_[i].data;
      m.count = results_[i].type.elements();
    }
    if (kind_ != Kind::recv) {
      require_row_major(operands_[i]);
      m.send = operands_[i].data;
      m.count = operands_[i].type.elements();
    }
    if (kind_ == Kind::all_to_all) {
      m.send_rows = rows("send", i, out);
      m.recv_rows = rows("receive", i, out);
      m.row = row_elements(results_[i].type);
    }
    return m;
  }

 private:
  std::span<const std::int64_t> rows(std::string_view attribute_name, std::size_t i,
                                     Calls& out) const {
    const Ints& given = attribute<Ints>(op_, attributes_, attribute_name);
    return out.rows.emplace_back(rows_for_each(given, operands_[i].type, ranks_));
  }

  const Op& op_;
  const Attributes& attributes_;
  std::span<const View> operands_, results_;
  int ranks_;
  Kind kind_;
};

}  // namespace

std::int64_t Calls::bytes() const {
  std::int64_t total = 0;
  for (const comm::CollectiveCall& call : calls)
    for (const comm::Member& m : call.members) total += m.count * hocket::bytes(call.dtype);
  return total;
}

Calls make_calls(const Op& op, const Attributes& attributes, std::span<const View> operands,
                 std::span<const View> results, int ranks, std::string_view name) {
  const Collective& collective = *op.collective;
  comm::CollectiveCall call{.kind = collective.kind,
                            .channel = attribute<std::int64_t>(op, attributes, "channel"),
                            .name = name};
  if (!collective.peer.empty())
    call.peer = static_cast<int>(attribute<std::int64_t>(op, attributes, collective.peer));
  if (collective.reduces)
    call.reduce = *find_reduce(attribute<std::string>(op, attributes, "reduce"));
  Calls out;
  if (collective.kind == Kind::barrier) {
    out.calls.push_back(call);
    return out;
  }
  Maker maker(op, attributes, operands, results, ranks);
  std::vector<bool> taken(std::max(operands.size(), results.size()));
  for (std::size_t first = 0; first < taken.size(); ++first) {
    if (taken[first]) continue;
    call.dtype = maker.dtype(first);
    std::vector<comm::Member>& members = out.members.emplace_back();
    for (std::size_t i = first; i < taken.size(); ++i) {
      if (maker.dtype(i) != call.dtype) continue;
      taken[i] = true;
      members.push_back(maker.member(i, out));
    }
    call.members = members;
    call.same_bucket = !out.calls.empty();
    out.calls.push_back(call);
  }
  return out;
}

}  // namespace hocket
