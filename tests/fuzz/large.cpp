// Large texts, each built to make some step quadratic: the parser promises time and memory linear
// in the text, and the clean-up passes near-linear time. An answer takes a second or so, be it an
// error; the limits here are far above that and only tell a line from a parabola.

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "child.h"
#include "hocket/base/error.h"
#include "hocket/driver/compile.h"
#include "hocket/ir/parse.h"
#include "hocket/ops/ops.h"

namespace hocket::fuzz {
namespace {

/// `make(0) between make(1) between ...` up to about `bytes` bytes.
template <class Make>
std::string many(std::size_t bytes, std::string_view between, Make make) {
  std::string out;
  for (std::size_t i = 0; out.size() < bytes; ++i) {
    if (i > 0) out += between;
    out += make(i);
  }
  return out;
}

std::string upto(std::size_t bytes) {
  return many(bytes, ",", [](std::size_t i) { return fmt::format("{}", i); });
}

struct Case {
  std::string_view name;
  std::string (*text)(std::size_t bytes);
  bool passes = false;  ///< compile it, too
};

/// As many numbered statements as fit, and a return of all their values.
template <class Make>
std::string all_returned(std::size_t bytes, std::string_view inputs, Make make) {
  std::size_t count = 0;
  std::string body = many(bytes * 4 / 5, "\n", [&](std::size_t i) {
    count = i + 1;
    return fmt::format("%a{}: {}", i, make(i));
  });
  std::string out = fmt::format("graph g({}) {{\n{}\nreturn ", inputs, body);
  for (std::size_t i = 0; i < count; ++i) out += fmt::format("{}%a{}", i > 0 ? "," : "", i);
  return out + "\n}\n";
}

std::string results(std::size_t bytes) {
  std::size_t count = bytes / 25;
  std::string names, operands;
  for (std::size_t i = 0; i < count; ++i) {
    names += fmt::format("{}%a{}: pending f32[]", i > 0 ? ", " : "", i);
    operands += i > 0 ? ",%x" : "%x";
  }
  return fmt::format("graph g(%x: f32[]) {{\n{} = all_reduce({})\n%y: f32[] = wait(%a0)\n}}\n",
                     names, operands);
}

/// Every member of the bucket in a world of a million ranks.
std::string wide_exchange(std::size_t bytes) {
  std::size_t count = bytes / 35;
  std::string names, operands;
  for (std::size_t i = 0; i < count; ++i) {
    names += fmt::format("{}%a{}: pending f32[1048576]", i > 0 ? ", " : "", i);
    operands += i > 0 ? ",%x" : "%x";
  }
  return fmt::format(
      "mesh(r=1048576)\ngraph g(%x: f32[1048576]) {{\n{} = all_to_all({})\n"
      "%y: f32[1048576] = wait(%a0)\n}}\n",
      names, operands);
}

std::string waits(std::size_t bytes) {
  std::string text = "mesh(r=2)\ngraph a on [0] (%x: f32[]) {\n";
  std::size_t count = bytes / 55;
  std::string operands, reads;
  for (std::size_t i = 0; i < count; ++i) {
    text += fmt::format("{}%a{}: pending f32[]", i > 0 ? ", " : "", i);
    operands += i > 0 ? ",%x" : "%x";
    reads += fmt::format("%w{}: f32[] = wait(%a{})\n", i, i);
  }
  return text + " = all_reduce(" + operands + ")\n" + reads + "}\ngraph b on [1] () {}\n";
}

/// Names whose numbers always lie just beyond twice the last one.
std::string far_names(std::size_t) {
  std::string out = "graph g(%x: f32[]";
  for (std::uint64_t n = 16; n < 1'000'000'000; n = 2 * n + 18)
    out += fmt::format(", %x_{}: f32[]", n);
  return out + ") {}\n";
}

std::string inputs(std::size_t bytes, const std::function<std::string(std::size_t)>& name) {
  return "graph g(" +
         many(bytes, ",", [&](std::size_t i) { return fmt::format("%{}:f32[]", name(i)); }) +
         ") {}\n";
}

std::string body(std::string_view head, const std::string& nodes) {
  return fmt::format("{}graph g() {{\n{}\n}}\n", head, nodes);
}

std::string repeated(std::size_t bytes, std::string_view piece) {
  return many(bytes, "", [&](std::size_t) { return piece; });
}

std::string one_rank_graphs(std::size_t bytes, std::string_view head, std::string_view rest) {
  return std::string(head) + many(bytes - head.size(), "\n", [&](std::size_t i) {
           return fmt::format("graph g{} on [{}] {}", i, i, rest);
         });
}

// Sizes that hash tables of libstdc++ grow to: multiples of one of them fall into one bucket.
constexpr std::size_t few_buckets = 20753, many_buckets = 172933;

const Case cases[] = {
    {"inputs",
     [](std::size_t n) { return inputs(n, [](std::size_t i) { return fmt::format("a{}", i); }); }},
    {"names of one base",
     [](std::size_t n) {
       return inputs(n, [](std::size_t i) { return fmt::format("a_{}", i + 1); });
     }},
    {"names far apart", far_names},
    {"names in one bucket",
     [](std::size_t n) {
       return inputs(n, [](std::size_t i) {
         return fmt::format("b{}_{}", i / 20000, (i % 20000 + 1) * few_buckets);
       });
     }},
    {"channels in one bucket",
     [](std::size_t n) {
       return body("", many(n, "\n", [](std::size_t i) {
                     return fmt::format("barrier{{channel={}}}", i * many_buckets);
                   }));
     }},
    {"results of one node", results},
    {"an exchange of many ranks", wide_exchange},
    {"nodes", [](std::size_t n) { return body("", repeated(n, "barrier\n")); }},
    {"regions", [](std::size_t n) { return body("", repeated(n, "call region(){}\n")); }},
    {"graphs", [](std::size_t n) { return one_rank_graphs(n, "mesh(r=1048576)\n", "(){}"); }},
    {"graphs in a world of many sets",
     [](std::size_t n) {
       std::string sets = many(n / 2, ",", [](std::size_t i) { return fmt::format("[{}]", i); });
       return one_rank_graphs(n, "mesh(r=1048576)\ngroup \"g\"=[" + sets + "]\n", "(){}");
     }},
    {"graphs of one group",
     [](std::size_t n) {
       return one_rank_graphs(n, "mesh(r=1048576)\ngroup \"g\"=[[" + upto(n / 3) + "]]\n",
                              "() {barrier {group=\"g\"}}");
     }},
    {"groups and their nodes",
     [](std::size_t n) {
       return body(
           many(n / 2, "\n", [](std::size_t i) { return fmt::format("group \"{}\"=[[0]]", i); }) +
               "\n",
           many(n / 2, "\n",
                [](std::size_t i) { return fmt::format("barrier{{group=\"{}\"}}", i); }));
     }},
    {"small groups in a large world",
     [](std::size_t n) {
       return "mesh(r=1048576)\n" +
              many(n / 2, "\n",
                   [](std::size_t i) { return fmt::format("group \"{}\"=[[0]]", i); }) +
              "\ngraph g on [0] () {\n" +
              many(n / 2, "\n",
                   [](std::size_t i) { return fmt::format("barrier{{group=\"{}\"}}", i); }) +
              "\n}\n";
     }},
    {"axes",
     [](std::size_t n) {
       auto axes = [&](std::string_view form) {
         return many(n / 3, ",", [&](std::size_t i) { return fmt::format(fmt::runtime(form), i); });
       };
       return body("mesh(" + axes("a{}=1") + ")\n",
                   repeated(n / 3, "barrier\n") + "barrier {group=\"" + axes("a{}") + "\"}");
     }},
    {"one long word",
     [](std::size_t n) { return "graph g(%" + std::string(n, 'a') + ": f32[]) {return %b}"; }},
    {"one long list",
     [](std::size_t n) {
       return body("", "%y: f32[] = full {value=[" + repeated(n, "1,") + "1]}");
     }},
    {"one long number",
     [](std::size_t n) {
       return body("", "%y: f32[] = full {value=0." + std::string(n, '1') + "}");
     }},
    {"brackets", [](std::size_t n) { return body("", "barrier {channel=" + std::string(n, '[')); }},
    {"nested regions", [](std::size_t n) { return body("", repeated(n, "call region(){")); }},
    {"comments", [](std::size_t n) { return repeated(n, "#\n"); }},
    {"an error at the end",
     [](std::size_t n) { return body("", repeated(n, "barrier\n") + "%y: f32[] = neg(%nobody)"); }},
    {"passes: calls with other regions",
     [](std::size_t n) {
       return all_returned(n, "", [](std::size_t i) {
         return fmt::format("f32[]=call region(){{%c:f32[]=full{{value={}.0}} return %c}}", i);
       });
     },
     true},
    {"passes: calls with other names",
     [](std::size_t n) {
       return all_returned(n, "%x: f32[]", [](std::size_t i) {
         return fmt::format("f32[]=call(%x) region(%p:f32[]){{return o{}=%p}}", i);
       });
     },
     true},
    {"passes: delays",
     [](std::size_t n) {
       return all_returned(n, "%x: f32[]", [](std::size_t i) {
         return fmt::format("f32[] = neg(%x) delay={}", i);
       });
     },
     true},
    {"passes: bools",
     [](std::size_t n) {
       return all_returned(n, "", [](std::size_t i) {
         std::string bits;
         for (std::size_t k = 0; k < 16; ++k) bits += (i >> k & 1) != 0 ? ",true" : ",false";
         return fmt::format("bool[16] = constant {{value=[{}]}}", bits.substr(1));
       });
     },
     true},
    {"passes: unread waits of a bucket", waits, true},
    {"passes: a group of many sets",
     [](std::size_t n) {
       std::size_t ranks = n / 17;
       std::string sets, all;
       for (std::size_t i = 0; i < ranks; ++i) {
         sets += fmt::format("{}[{}]", i > 0 ? "," : "", i);
         all += fmt::format("{}{}", i > 0 ? "," : "", i);
       }
       return fmt::format(
           "mesh(r={})\ngroup \"g\"=[{}]\ngraph g on [{}] (%x: f32[]) {{\n"
           "%a: pending f32[]=all_reduce(%x) {{group=\"g\"}}\n%y: f32[]=wait(%a)}}\n",
           ranks, sets, all);
     },
     true},
    {"passes: many graphs that meet",
     [](std::size_t n) {
       std::size_t ranks = n / 85;
       std::string text = fmt::format("mesh(r={})\n", ranks);
       for (std::size_t i = 0; i < ranks; ++i)
         text += fmt::format(
             "graph g{} on [{}] (%x: f32[]) {{%a: pending f32[]=all_reduce(%x) "
             "%y: f32[]=wait(%a)}}\n",
             i, i);
       return text;
     },
     true},
};

/// In the child: says what the answer was.
int look_at(const Case& c, std::size_t bytes) {
  std::string answer = "accepted";
  bool good = true;
  try {
    Program program = parse(c.text(bytes), ops::all());
    if (c.passes) compile(program);
  } catch (const Error& e) {
    answer = e.what();
  } catch (const std::exception& e) {
    answer = e.what();
    good = false;
  }
  fmt::print("{:<50.50}", answer);
  return good ? 0 : 1;
}

/// True when every case (whose name contains `only`) is answered within the limits.
bool look_at_all(std::string_view only) {
  const std::size_t bytes = sanitized() ? 200'000 : 4'000'000;
  bool all_good = true;
  for (const Case& c : cases) {
    if (c.name.find(only) == c.name.npos) continue;
    fmt::print("{:<33} ", c.name);
    ChildEnd end =
        run_child([&] { return look_at(c, bytes); }, {.bytes = std::size_t{2} << 30, .seconds = 8});
    bool good = !end.hung && !end.signaled && end.code == 0;
    fmt::print(" {:6.2f} s {:5} MB{}\n", end.seconds, end.peak_bytes >> 20,
               good ? "" : "  FAILED: " + describe(end));
    all_good &= good;
  }
  return all_good;
}

}  // namespace
}  // namespace hocket::fuzz

int main(int argc, char** argv) {
  return hocket::fuzz::look_at_all(argc > 1 ? argv[1] : "") ? 0 : 1;
}
