#pragma once

#include "hocket/ir/graph.h"
#include "hocket/passes/framework/pass.h"

namespace hocket {

/// Starts each collective as early as its operands allow. A transfer that starts late leaves little
/// computation to hide it, and a source calls its collectives in the order of parameters rather
/// than in the order in which gradients become ready.
///
///     %d2 = div(%g2, %n)                   %d2 = div(%g2, %n)
///     %g1 = matmul(...)                    %h2 = all_reduce(%d2)
///     %d1 = div(%g1, %n)           ->      %g1 = matmul(...)
///     %h1 = all_reduce(%d1)                %d1 = div(%g1, %n)
///     %h2 = all_reduce(%d2)                %h1 = all_reduce(%d1)
///
/// Each collective goes right behind the last of its operands, or to the front of the graph if
/// these are inputs. Cheap nodes with one operand in front of it (a division, a view) move along.
/// Only the order of nodes changes, and all operands are still defined before they are read, so no
/// value changes. Collectives that ranks with another graph take part in keep their order, and none
/// passes a barrier of its group. O(nodes).
void expedite_collectives(Graph& g, const NoOptions& options);

/// The same, but collectives of one group keep their order, for graphs in which a pass or the user
/// has chosen it. O(nodes).
///
///     %b = matmul(%a, %a)                  %b = matmul(%a, %a)
///     %d = matmul(%c, %c)          ->      %h = all_reduce(%b)
///     %h = all_reduce(%b)                  %d = matmul(%c, %c)
void raise_collectives(Graph& g, const NoOptions& options);

}  // namespace hocket
