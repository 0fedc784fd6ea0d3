#pragma once
// Iteration over the nodes of a graph, for loops that edit the graph and for loops that do not.
// graph.h includes this.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "hocket/ir/graph.h"

namespace hocket {

/// For loops that do not edit the graph.
template <bool reverse>
class ConstNodeRange {
 public:
  class Iterator {
   public:
    using value_type = NodeId;
    using difference_type = std::ptrdiff_t;
    Iterator() = default;
    Iterator(const Graph* g, NodeId n) : graph_(g), node_(n) {}
    NodeId operator*() const { return node_; }
    Iterator& operator++() {
      node_ = reverse ? graph_->preceding(node_) : graph_->following(node_);
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.node_ == b.node_; }

   private:
    const Graph* graph_ = nullptr;
    NodeId node_;
  };

  explicit ConstNodeRange(const Graph& g) : graph_(&g) {}
  Iterator begin() const {
    return reverse ? at(graph_->preceding(graph_->return_node())) : at(graph_->first_node());
  }
  Iterator end() const {
    return reverse ? at(graph_->preceding(graph_->first_node())) : at(graph_->return_node());
  }
  friend ConstNodeRange<!reverse> reversed(ConstNodeRange r) {
    return ConstNodeRange<!reverse>(*r.graph_);
  }

 private:
  Iterator at(NodeId n) const { return Iterator(graph_, n); }
  const Graph* graph_;
};

/// For loops that edit the graph: the graph keeps a list of its iterators, and advances an iterator
/// when its node is erased or moved.
template <bool reverse>
class NodeRange {
 public:
  struct End {};
  class Iterator {
   public:
    explicit Iterator(Graph& g) : graph_(&g) {
      cursor_.reverse = reverse;
      cursor_.current = reverse ? g.preceding(g.return_node()) : g.first_node();
      graph_->cursors_.push_back(&cursor_);
    }
    Iterator(const Iterator&) = delete;
    Iterator& operator=(const Iterator&) = delete;
    ~Iterator() { std::erase(graph_->cursors_, &cursor_); }
    NodeId operator*() const { return cursor_.current; }
    Iterator& operator++() {
      cursor_.current = cursor_.detached ? cursor_.resume
                        : reverse        ? graph_->preceding(cursor_.current)
                                         : graph_->following(cursor_.current);
      cursor_.detached = false;
      return *this;
    }
    bool operator==(End) const {
      return !cursor_.current || cursor_.current == graph_->return_node() ||
             graph_->is_input(cursor_.current);
    }

   private:
    Graph* graph_;
    Graph::Cursor cursor_;
  };

  explicit NodeRange(Graph& g) : graph_(&g) {}
  Iterator begin() const { return Iterator(*graph_); }
  End end() const { return {}; }
  friend NodeRange<!reverse> reversed(NodeRange r) { return NodeRange<!reverse>(*r.graph_); }

 private:
  Graph* graph_;
};

inline ConstNodeRange<false> Graph::nodes() const { return ConstNodeRange<false>(*this); }
inline NodeRange<false> Graph::nodes() { return NodeRange<false>(*this); }

}  // namespace hocket
