#include "hocket/comm/in_process.h"

#include <algorithm>

#include "hocket/base/error.h"
#include "hocket/base/text.h"
#include "hocket/comm/world.h"

namespace hocket::comm {
namespace {

constexpr double last_moment = 60e-6;  // seconds before the end of a transfer that are not slept

class InProcessGroup final : public ProcessGroup {
 public:
  InProcessGroup(std::shared_ptr<World> world, std::shared_ptr<Group> group, int index)
      : world_(std::move(world)),
        group_(std::move(group)),
        index_(index),
        rank_(group_->ranks[static_cast<std::size_t>(index)]),
        me_(*world_->ranks[static_cast<std::size_t>(rank_)]) {}
  ~InProcessGroup() override;

  int size() const override { return static_cast<int>(group_->ranks.size()); }
  int index() const override { return index_; }
  double deadline() const override { return world_->options.deadline; }
  Work start(const Call& call) override;

 protected:
  std::optional<Transfer> finish(void* ticket, double seconds) override;

 private:
  Lane& lane_of(const Call& call, int& seat);
  bool settle(Post& p, Deadline& deadline);
  bool pass_link(Post& p, Deadline& deadline);
  void note_transfer(Post& p);
  const Post* lost(const Round& round) const;
  [[noreturn]] void give_up(const std::string& message);
  [[noreturn]] void give_up_late(const Post& p, double seconds);
  void refuse_if_failed(const Post& p);
  std::string title(Kind kind, std::int64_t channel, std::string_view name) const;
  std::string title(const Post& p) const { return title(p.kind, p.channel, p.name); }

  std::shared_ptr<World> world_;
  std::shared_ptr<Group> group_;
  int index_;
  int rank_;  // in the world
  Rank& me_;
  std::vector<std::pair<std::pair<int, int>, Lane*>> pairs_;  // those met so far
};

/// `%h = all_reduce on channel 3 of group "dp"`.
std::string InProcessGroup::title(Kind kind, std::int64_t channel, std::string_view name) const {
  return fmt::format("{}{}{} on channel {} of group {}", name, name.empty() ? "" : " = ",
                     comm::name(kind), channel, quoted(group_->name));
}

void InProcessGroup::give_up(const std::string& message) {
  world_->fail(rank_, message);
  // The caller unwinds next, and its memory with it.
  me_.close_all();
  throw RunError(message);
}

void InProcessGroup::refuse_if_failed(const Post& p) {
  if (world_->failed.load()) give_up(fmt::format("{}: {}", title(p), world_->failure()));
}

InProcessGroup::~InProcessGroup() {
  for (Post *p = me_.first, *after = nullptr; p != nullptr; p = after) {
    after = p->after;
    if (p->owner != this) continue;
    if (p->round->phase.load() != Phase::complete) {
      if (!world_->failed.load())
        world_->fail(rank_, fmt::format("{}: left before it was done", title(*p)));
      p->round->close();
      me_.remove(*p);
      continue;
    }
    me_.remove(*p);
    p->round->lane.leave(*p->round);
  }
  group_->gone[static_cast<std::size_t>(index_)].store(true);
  group_->some_gone.store(true);
  world_->ring(*group_);
}

Lane& InProcessGroup::lane_of(const Call& call, int& seat) {
  seat = index_;
  bool sends = call.kind == Kind::send;
  bool pair = sends || call.kind == Kind::recv;
  if (pair || call.kind == Kind::reduce || call.kind == Kind::broadcast)
    if (call.peer < 0 || call.peer >= size() || (pair && call.peer == index_))
      hocket::fail("{}: peer {} of {} in a group of {}", title(call.kind, call.channel, call.name),
                   call.peer, index_, count_of(size(), "rank"));
  if (!pair) return group_->lane;
  seat = sends ? 0 : 1;
  std::pair key = sends ? std::pair{index_, call.peer} : std::pair{call.peer, index_};
  for (auto& [known, lane] : pairs_)
    if (known == key) return *lane;
  return *pairs_.emplace_back(key, &group_->pair(key.first, key.second)).second;
}

Work InProcessGroup::start(const Call& call) {
  int seat = 0;
  Lane& lane = lane_of(call, seat);
  if (world_->failed.load())
    give_up(fmt::format("{}: {}", title(call.kind, call.channel, call.name), world_->failure()));
  Post& post = lane.next(seat).posts[static_cast<std::size_t>(seat)];
  post.fill(call, static_cast<int>(lane.ranks.size()));
  Round& round = lane.advance(seat);
  post.owner = this;
  me_.append(post);
  if (round.arrive(seat)) {
    round.open();
    world_->ring(lane, seat);
  }
  return {*this, &post};
}

/// A seat that is empty for good.
const Post* InProcessGroup::lost(const Round& round) const {
  if (!group_->some_gone.load()) return nullptr;
  for (const Post& p : round.all()) {
    int rank = round.lane.ranks[static_cast<std::size_t>(p.seat)];
    auto index = std::ranges::find(group_->ranks, rank) - group_->ranks.begin();
    if (group_->gone[static_cast<std::size_t>(index)].load() && !p.here.load()) return &p;
  }
  return nullptr;
}

void InProcessGroup::give_up_late(const Post& p, double seconds) {
  std::string missing;
  int count = 0;
  for (const Post& other : p.round->all())
    if (!other.here.load()) {
      missing += fmt::format("{}{}", count++ == 0 ? "" : ", ",
                             p.round->lane.ranks[static_cast<std::size_t>(other.seat)]);
    }
  if (count == 0)
    give_up(fmt::format("{}: all ranks came, but it took over {:.4g} s", title(p), seconds));
  give_up(fmt::format("{}: rank{} {} did not come within {:.4g} s", title(p), count == 1 ? "" : "s",
                      missing, seconds));
}

/// Until all data of the call is where it belongs; false when it is not and there is no time.
bool InProcessGroup::settle(Post& p, Deadline& deadline) {
  Round& round = *p.round;
  while (!p.settled) {
    Phase phase = round.phase.load();
    if (phase == Phase::complete) {
      note_transfer(p);
      break;
    }
    if (phase == Phase::mismatched) give_up(round.mismatch);
    refuse_if_failed(p);
    if (phase == Phase::ready && round.help(p.seat)) {
      world_->ring(round.lane, p.seat);
      continue;
    }
    if (const Post* other = lost(round))
      give_up(fmt::format("{}: rank {} left", title(p),
                          round.lane.ranks[static_cast<std::size_t>(other->seat)]));
    if (deadline.seconds == 0) return round.phase.load() == Phase::complete && settle(p, deadline);
    auto changed = [&] {
      return round.phase.load() != phase || world_->failed.load() || lost(round) != nullptr;
    };
    if (!me_.bell.wait(changed, deadline, world_->spin)) give_up_late(p, deadline.seconds);
  }
  return true;
}

/// Called in the order in which this rank started its calls, when there is a link.
void InProcessGroup::note_transfer(Post& p) {
  const Round& round = *p.round;
  p.settled = true;
  p.transfer = {link_bytes(p.kind, round.seats, static_cast<double>(p.bytes())), round.ready_at,
                round.complete_at};
  if (!world_->options.link || round.seats == 1) return;
  const Link& link = *world_->options.link;
  p.transfer.begin = std::max(round.ready_at, me_.link_free_at);
  p.transfer.end = p.transfer.begin + link.latency + p.transfer.bytes / link.bandwidth;
  me_.link_free_at = p.transfer.end;
}

/// Until the emulated transfer has ended.
bool InProcessGroup::pass_link(Post& p, Deadline& deadline) {
  double end = p.transfer.end;
  if (!world_->options.link || now() >= end) return true;
  if (deadline.seconds == 0) return false;
  if (end > deadline.when()) give_up_late(p, deadline.seconds);
  Deadline almost{.seconds = 0, .at = end - last_moment};
  auto failed = [&] { return world_->failed.load(); };
  if (now() < almost.at && me_.bell.wait(failed, almost, 0)) refuse_if_failed(p);
  while (now() < end) {
  }
  return true;
}

std::optional<Transfer> InProcessGroup::finish(void* ticket, double seconds) {
  Post& post = *static_cast<Post*>(ticket);
  Deadline deadline{.seconds = std::max(seconds, 0.0)};
  // Those before it in its lane come first; with a link, all that this rank started before.
  for (Post* p = me_.first;; p = p->after) {
    bool before = world_->options.link || &p->round->lane == &post.round->lane;
    if (before && !static_cast<InProcessGroup*>(p->owner)->settle(*p, deadline))
      return std::nullopt;
    if (p == &post) break;
  }
  if (!pass_link(post, deadline)) return std::nullopt;
  Transfer transfer = post.transfer;
  me_.remove(post);
  post.round->lane.leave(*post.round);
  return transfer;
}

}  // namespace

InProcess::InProcess(int ranks, InProcessOptions options) {
  if (ranks < 1) hocket::fail("in-process ranks: found {}, wanted at least 1", ranks);
  world_ = std::make_shared<World>(ranks, options);
}

int InProcess::ranks() const { return static_cast<int>(world_->ranks.size()); }

std::unique_ptr<ProcessGroup> InProcess::group(int rank, std::string name,
                                               std::span<const int> members) {
  std::vector<int> list(members.begin(), members.end()), sorted = list;
  std::ranges::sort(sorted);
  bool sane = !list.empty() && sorted.front() >= 0 && sorted.back() < ranks() &&
              std::ranges::adjacent_find(sorted) == sorted.end();
  auto found = std::ranges::find(list, rank);
  if (!sane || found == list.end())
    hocket::fail("group {}: {} with rank {} in it, wanted different ranks below {}", quoted(name),
                 count_of(static_cast<std::int64_t>(list.size()), "rank"), rank, ranks());
  auto index = static_cast<int>(found - list.begin());
  auto group = world_->group(name, list);
  group->gone[static_cast<std::size_t>(index)].store(false);
  return std::make_unique<InProcessGroup>(world_, std::move(group), index);
}

std::unique_ptr<ProcessGroup> InProcess::all(int rank) {
  std::vector<int> list(world_->ranks.size());
  for (std::size_t i = 0; i < list.size(); ++i) list[i] = static_cast<int>(i);
  return group(rank, "world", list);
}

void InProcess::fail(int rank, std::exception_ptr cause) {
  try {
    std::rethrow_exception(cause);
  } catch (const std::exception& e) {
    world_->fail(rank, e.what());
  } catch (...) {
    world_->fail(rank, "an exception without a message");
  }
}

std::optional<int> InProcess::first_failed() const { return world_->first_failed(); }

}  // namespace hocket::comm
