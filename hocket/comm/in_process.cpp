#include "hocket/comm/in_process.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/comm/shared_state.h"

namespace hocket::comm {
namespace {

constexpr double last_moment = 60e-6;  // seconds: the end of a transfer is awaited by spinning
constexpr double long_wait = 10e-3;    // seconds of sleep after which a rank looks for a deadlock

class InProcessGroup final : public ProcessGroup {
 public:
  InProcessGroup(std::shared_ptr<SharedState> world, std::shared_ptr<GroupState> group, int index)
      : shared_(std::move(world)),
        group_(std::move(group)),
        index_(index),
        rank_(group_->ranks[static_cast<std::size_t>(index)]),
        me_(*shared_->ranks[static_cast<std::size_t>(rank_)]),
        lists_(group_->ranks.size()) {
    ++shared_->ends;
  }
  ~InProcessGroup() override;

  int size() const override { return static_cast<int>(group_->ranks.size()); }
  int index() const override { return index_; }
  double deadline() const override { return shared_->options.deadline; }
  Work start(const CollectiveCall& call) override;
  void expect(const CollectiveCall& call) override;
  std::vector<IssuedSequence> issued() const override;

 protected:
  bool finish(void* ticket, double seconds, Transfer& transfer) override;
  std::vector<int> missing(void* ticket) const override;

 private:
  RoundSequence& sequence_of(const CollectiveCall& call, int& participant);
  void compare(const PostedCall& p);
  bool meet(PostedCall& p);
  bool work_on(PostedCall& p, bool for_others);
  void settle(PostedCall& p);
  bool advance(PostedCall& p, Deadline& deadline);
  bool wait_for_change(PostedCall& p, Deadline& deadline);
  bool pass_link(PostedCall& p, Deadline& deadline);
  List<&PostedCall::unsettled>& queue_of(const PostedCall& p);
  PostedCall& next_before(PostedCall& p);
  int lost(const PostedCall& p) const;
  [[noreturn]] void give_up(const std::string& message);
  [[noreturn]] void give_up_late(const PostedCall& p, double seconds);
  [[noreturn]] void give_up_like_others(const std::string& title);
  void refuse_if_failed(const PostedCall& p);

  std::shared_ptr<SharedState> shared_;
  std::shared_ptr<GroupState> group_;
  int index_;
  int rank_;  // in the world
  RankState& me_;
  MemoryLists lists_;
  std::vector<std::pair<std::pair<int, int>, RoundSequence*>> pairs_;  // those used so far
};

void InProcessGroup::give_up(const std::string& message) {
  shared_->fail(rank_, message);  // unless it has failed already
  // The caller unwinds next and frees the memory of its calls.
  for (PostedCall* p = me_.in_flight.first; p != nullptr; p = p->in_flight.after) withdraw(*p);
  throw RunError(message);
}

void InProcessGroup::give_up_like_others(const std::string& title) {
  give_up(fmt::format("{}: {}", title, shared_->failure()));
}

void InProcessGroup::refuse_if_failed(const PostedCall& p) {
  if (!shared_->failed.load()) return;
  compare(p);  // the failure may be about this call
  give_up_like_others(title(p));
}

InProcessGroup::~InProcessGroup() {
  for (PostedCall *p = me_.in_flight.first, *after = nullptr; p != nullptr; p = after) {
    after = p->in_flight.after;
    if (p->owner != this) continue;
    bool failed = shared_->failed.load(), done = false;
    if (!failed && all_posted(*p))
      done = complete(*p);  // the calls agree, since nothing has failed
    if (!done) {
      if (!failed) shared_->fail(rank_, fmt::format("{}: left before it was done", title(*p)));
      withdraw(*p);
    }
    if (!p->settled) queue_of(*p).remove(*p);
    me_.in_flight.remove(*p);
    if (done) p->round.sequence->leave(*p);
  }
  group_->gone[static_cast<std::size_t>(index_)].store(true);
  group_->some_gone.store(true);
  shared_->notify(group_->sequence, index_);
  --shared_->ends;
}

RoundSequence& InProcessGroup::sequence_of(const CollectiveCall& call, int& participant) {
  participant = index_;
  bool sends = call.kind == Kind::send;
  bool pair = facts(call.kind).point_to_point;
  if (!facts(call.kind).peer.empty())
    if (call.peer < 0 || call.peer >= size() || (pair && call.peer == index_))
      hocket::fail("{}: peer {} of {} in a group of {}",
                   title(group_->sequence, call.kind, call.channel, call.name), call.peer, index_,
                   count_of(size(), "rank"));
  if (!pair) return group_->sequence;
  participant = sends ? 0 : 1;
  std::pair key = sends ? std::pair{index_, call.peer} : std::pair{call.peer, index_};
  for (auto& [known, sequence] : pairs_)
    if (known == key) return *sequence;
  return *pairs_.emplace_back(key, &group_->pair(key.first, key.second)).second;
}

/// With a link, all transfers of a rank pass it one after the other; without, only calls of one
/// sequence are ordered.
List<&PostedCall::unsettled>& InProcessGroup::queue_of(const PostedCall& p) {
  return shared_->options.link ? me_.through_link : p.round.sequence->unsettled(p.participant);
}

Work InProcessGroup::start(const CollectiveCall& call) {
  int participant = 0;
  RoundSequence& sequence = sequence_of(call, participant);
  if (shared_->failed.load())
    give_up_like_others(title(sequence, call.kind, call.channel, call.name));
  PostedCall& post = sequence.next(participant);
  CallHead head = post.fill(call, static_cast<int>(sequence.ranks.size()));
  head.order = sequence.issued(participant).issue(call);
  post.epoch = post.round.segment->epoch;
  post.owner = this;
  if (shared_->options.timed) {
    post.posted_at = now();
    me_.started_at.store(post.posted_at, std::memory_order_relaxed);
  }
  sequence.advance(participant);
  post.publish(head);
  // Work that other ranks do not depend on comes after publishing.
  me_.in_flight.append(post);
  queue_of(post).append(post);
  post.split = split_of(post);
  // Two ranks that post at the same time may not see each other's call here; waits compare again.
  if (!meet(post)) compare(post);
  if (sequence.ranks.size() > 1) shared_->notify(sequence, participant);
  return {*this, &post};
}

void InProcessGroup::expect(const CollectiveCall& call) {
  for (PostedCall* p = me_.in_flight.first; p != nullptr; p = p->in_flight.after)
    if (p->owner == this) internal_fail("{}: in flight while more calls are announced", title(*p));
  int participant = 0;
  RoundSequence& sequence = sequence_of(call, participant);
  std::size_t members = call.members.size();
  bool by_rows = facts(call.kind).result == ResultSize::by_rows;
  sequence.expect(participant, {.name = call.name.size(),
                                .members = members > 1 ? members : 0,
                                .rows = by_rows ? members * (1 + 2 * sequence.ranks.size()) : 0});
}

std::vector<IssuedSequence> InProcessGroup::issued() const {
  std::vector<IssuedSequence> all{{group_->sequence.ranks, false, group_->sequence.issued(index_)}};
  for (const auto& [ends, sequence] : pairs_)
    all.push_back({sequence->ranks, true, sequence->issued(ends.first == index_ ? 0 : 1)});
  return all;
}

std::vector<int> InProcessGroup::missing(void* ticket) const {
  const PostedCall& p = *static_cast<const PostedCall*>(ticket);
  std::vector<int> ranks;
  for (int participant = 0; participant < p.round.participants; ++participant)
    if (!has_posted(p, participant))
      ranks.push_back(p.round.sequence->ranks[static_cast<std::size_t>(participant)]);
  return ranks;
}

/// Fails if a rank has posted a different call in this round.
void InProcessGroup::compare(const PostedCall& p) {
  for (int participant = 0; participant < p.round.participants; ++participant) {
    if (participant == p.participant || !has_posted(p, participant)) continue;
    std::string difference = disagreement(p, participant);
    if (difference.empty()) continue;
    shared_->fail_all(difference);
    give_up(difference);
  }
}

/// True if all participants have posted. Throws if their calls disagree.
bool InProcessGroup::meet(PostedCall& p) {
  if (p.met || !all_posted(p)) return p.met;
  for (int participant = 0; participant < p.round.participants; ++participant)
    if (!clearly_agree(p, p.round.at(participant))) {
      compare(p);
      break;
    }
  return p.met = true;
}

/// Does this rank's share and, with `for_others`, what is left of other shares. Returns true if all
/// work is done.
bool InProcessGroup::work_on(PostedCall& p, bool for_others) {
  bool helped = help(p, p.participant, shared_->failed, shared_->options.timed, lists_);
  for (int i = 1; for_others && i < p.round.participants; ++i)
    helped |= help(p, (p.participant + i) % p.round.participants, shared_->failed,
                   shared_->options.timed, lists_);
  // Notifies even if not all work is done: two ranks that finish at the same time may not see each
  // other's part, and each would rely on the other to wake the sleeping ranks.
  if (helped) shared_->notify(*p.round.sequence, p.participant);
  return complete(p);
}

/// A participant that has left the group without posting, or -1.
int InProcessGroup::lost(const PostedCall& p) const {
  if (!group_->some_gone.load()) return -1;
  for (int participant = 0; participant < p.round.participants; ++participant) {
    int index = p.round.sequence->members[static_cast<std::size_t>(participant)];
    if (group_->gone[static_cast<std::size_t>(index)].load() && !has_posted(p, participant))
      return participant;
  }
  return -1;
}

void InProcessGroup::give_up_late(const PostedCall& p, double seconds) {
  std::string missing, doing;
  int count = 0;
  for (int participant = 0; participant < p.round.participants; ++participant) {
    if (has_posted(p, participant)) continue;
    int rank = p.round.sequence->ranks[static_cast<std::size_t>(participant)];
    const char* comma = count++ == 0 ? "" : ", ";
    missing += fmt::format("{}{}", comma, rank);
    doing += fmt::format("{}rank {} {}", comma, rank, shared_->doing(rank));
  }
  if (count == 0)
    give_up(fmt::format("{}: all ranks came, but it takes over {:.4g} s", title(p), seconds));
  give_up(fmt::format("{}: rank{} {} did not come within {:.4g} s: {}", title(p),
                      count == 1 ? "" : "s", missing, seconds, doing));
}

/// Waits until the state of the call changes. Returns false when the deadline is reached.
bool InProcessGroup::wait_for_change(PostedCall& p, Deadline& deadline) {
  // The spin loop reads few flags, to notice a change sooner.
  double moment = std::min(shared_->spin, deadline.seconds);
  if (p.met ? spin([&] { return complete(p); }, moment)
            : spin([&] { return all_posted(p); }, moment))
    return true;
  auto changed = [&] {
    return (p.met ? complete(p) : all_posted(p) || lost(p) >= 0) || shared_->failed.load();
  };
  compare(p);
  if (me_.wakeup.wait(shared_->fence, changed, std::min(deadline.when(), now() + long_wait)))
    return true;
  // Only long waits are registered, since that takes the mutex.
  std::string cycle = shared_->begin_long_wait(rank_, p);
  if (!cycle.empty()) shared_->fail_all(cycle);
  bool happened = me_.wakeup.wait(shared_->fence, changed, deadline.when());
  shared_->end_long_wait(rank_);
  return happened;
}

/// Waits until all data of the call has arrived. With a link it also returns when the last missing
/// rank has posted, because another transfer may then be next. Returns false when the deadline is
/// reached.
bool InProcessGroup::advance(PostedCall& p, Deadline& deadline) {
  bool for_others = deadline.seconds == 0;
  bool only_meet = shared_->options.link && !p.met;
  while (true) {
    if (meet(p)) {
      if (only_meet) return true;
      if (work_on(p, for_others || !p.split.small)) break;
      // A small share is done sooner by its own rank, if that is about to start, than by one that
      // takes it over.
      if (!for_others && p.split.small) {
        for_others = true;
        if (spin([&] { return complete(p); }, shared_->patience)) break;
        continue;
      }
    }
    if (deadline.seconds > 0 && !p.met && spin([&] { return all_posted(p); }, 0)) continue;
    refuse_if_failed(p);
    if (int participant = lost(p); participant >= 0)
      give_up(fmt::format("{}: rank {} left", title(p),
                          p.round.sequence->ranks[static_cast<std::size_t>(participant)]));
    if (deadline.seconds == 0) return false;
    if (!wait_for_change(p, deadline)) give_up_late(p, deadline.seconds);
  }
  settle(p);
  return true;
}

/// Called, in the order of the queue, for a call whose work is done: computes when its transfer
/// passes the link.
void InProcessGroup::settle(PostedCall& p) {
  queue_of(p).remove(p);
  p.settled = true;
  if (!shared_->options.timed) return;
  double ready = 0, done = 0;
  for (const PostedCall& other : p.round.posts()) {
    ready = std::max(ready, other.posted_at);
    done = std::max(done, other.done_at.load(std::memory_order_relaxed));
  }
  int participants = p.round.participants;
  p.transfer = {link_bytes(p.kind, participants, static_cast<double>(p.bytes())), ready,
                std::max(ready, done)};
  if (!shared_->options.link || participants == 1) return;
  const Link& link = *shared_->options.link;
  p.transfer.begin = std::max(ready, me_.link_free_at);
  p.transfer.end =
      p.transfer.begin + (p.same_bucket ? 0 : link.latency) + p.transfer.bytes / link.bandwidth;
  me_.link_free_at = p.transfer.end;
}

/// Waits until the emulated transfer has ended. Returns false when the deadline is reached.
bool InProcessGroup::pass_link(PostedCall& p, Deadline& deadline) {
  double end = p.transfer.end;
  if (!shared_->options.link || now() >= end) return true;
  if (deadline.seconds == 0) return false;
  if (end > deadline.when()) give_up_late(p, deadline.seconds);
  auto failed = [&] { return shared_->failed.load(); };
  if (now() < end - last_moment && me_.wakeup.wait(shared_->fence, failed, end - last_moment))
    refuse_if_failed(p);
  while (now() < end) {
  }
  return true;
}

/// The call that must settle next, before p can. A call of another sequence is skipped while some
/// of its ranks are missing: a receive that was started early must not block the transfer that its
/// partner waits for. If all ranks have posted p, calls that all of them started before p are not
/// skipped, because whoever sees their later posts sees their earlier ones.
PostedCall& InProcessGroup::next_before(PostedCall& p) {
  PostedCall* next = queue_of(p).first;
  while (next != &p && next->round.sequence != p.round.sequence && !all_posted(*next))
    next = next->unsettled.after;
  return *next;
}

bool InProcessGroup::finish(void* ticket, double seconds, Transfer& transfer) {
  PostedCall& post = *static_cast<PostedCall*>(ticket);
  Deadline deadline{.seconds = std::max(seconds, 0.0)};
  while (!post.settled) {
    PostedCall& next = next_before(post);
    if (!static_cast<InProcessGroup*>(next.owner)->advance(next, deadline)) return false;
  }
  if (shared_->options.timed) {
    if (!pass_link(post, deadline)) return false;
    transfer = post.transfer;
  }
  me_.in_flight.remove(post);
  post.round.sequence->leave(post);
  return true;
}

}  // namespace

InProcess::InProcess(int ranks, InProcessOptions options) {
  if (ranks < 1) hocket::fail("in-process ranks: found {}, wanted at least 1", ranks);
  options.timed |= options.link.has_value();
  shared_ = std::make_shared<SharedState>(ranks, options);
  for (int r = 0; r < ranks; ++r) hosted_.push_back(r);
}

std::unique_ptr<ProcessGroup> InProcess::group(int rank, const std::string& name,
                                               std::span<const int> members) {
  std::vector<int> list(members.begin(), members.end()), sorted = list;
  std::ranges::sort(sorted);
  bool sane = !list.empty() && sorted.front() >= 0 && sorted.back() < ranks() &&
              std::ranges::adjacent_find(sorted) == sorted.end();
  auto found = std::ranges::find(list, rank);
  if (!sane || found == list.end())
    hocket::fail("group {}: {} with rank {} in it, wanted different ranks below {}", quoted(name),
                 count_of(static_cast<std::int64_t>(list.size()), "rank"), rank, ranks());
  if (shared_->closed.load()) internal_fail("group {}: the transport is closed", quoted(name));
  auto index = static_cast<int>(found - list.begin());
  auto group = shared_->group(name, list);
  group->gone[static_cast<std::size_t>(index)].store(false);
  return std::make_unique<InProcessGroup>(shared_, std::move(group), index);
}

void InProcess::fail(int rank, const std::exception_ptr& cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& e) {
    shared_->fail(rank, e.what());
  } catch (...) {
    shared_->fail(rank, "an exception without a message");
  }
}

std::optional<Transport::Failure> InProcess::failure() const {
  if (!shared_->failed.load()) return std::nullopt;
  return Failure{shared_->first_failed(), shared_->failure()};
}

std::string InProcess::doing(int rank) const { return shared_->doing(rank); }

void InProcess::close() {
  if (int ends = shared_->ends.load(); ends > 0)
    internal_fail("a transport is closed while {} of groups are in use", count_of(ends, "end"));
  shared_->closed.store(true);
}

}  // namespace hocket::comm
