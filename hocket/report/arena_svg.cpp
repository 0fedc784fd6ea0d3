#include "hocket/report/arena_svg.h"

#include <fmt/core.h>

#include <algorithm>

#include "hocket/plan/live_tensors.h"

namespace hocket {
namespace {

constexpr double width = 1000, height = 520, left = 90, top = 46, bottom = 44;
constexpr double smallest = 0.25;  // pixels

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  return out;
}

std::string size_text(std::int64_t bytes) {
  double b = static_cast<double>(bytes);
  if (bytes >= 10'000'000) return fmt::format("{:.0f} MB", b / 1e6);
  if (bytes >= 10'000) return fmt::format("{:.0f} KB", b / 1e3);
  return fmt::format("{} bytes", bytes);
}

/// Neighbours in memory differ, and the same name has the same colour.
std::string colour(const LiveTensor& t) {
  if (t.kept) return "#b8c4d6";
  if (t.name == "workspace") return "#d9d9d9";
  unsigned hash = 2166136261U;
  for (char c : t.name) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  return fmt::format("hsl({},55%,{}%)", hash % 360, 55 + hash / 360 % 18);
}

}  // namespace

std::string arena_svg(const Plan& plan, std::size_t graph, std::size_t phase) {
  const PlanGraph& g = plan.graphs[graph];
  const PlanPhase& p = g.phases[phase];
  std::vector<LiveTensor> tensors = live_tensors(plan, graph, phase);
  Peak peak = peak_of(tensors);
  double instructions = static_cast<double>(std::max<std::size_t>(p.instructions.size(), 1));
  double arena = static_cast<double>(std::max<std::int64_t>(g.arena_bytes, 1));
  auto x = [&](double t) { return left + t / instructions * width; };
  auto y = [&](double byte) { return top + height - byte / arena * height; };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" "
      "font-size=\"13\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      left + width + 20, top + height + bottom);
  svg += fmt::format(
      "<text x=\"{}\" y=\"26\" font-size=\"15\">{}, {}: {} of memory, at most {} alive</text>\n",
      left, escaped(plan.program.graphs[graph].name()), escaped(window_name(plan.shape, p.window)),
      size_text(g.arena_bytes), size_text(peak.bytes));
  for (const LiveTensor& t : tensors) {
    double w = x(t.last + 1.0) - x(t.first);
    double h = y(static_cast<double>(t.offset)) - y(static_cast<double>(t.offset + t.bytes));
    if (h < smallest) continue;
    double right = std::min(w, left + width - x(t.first));
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\" "
        "stroke=\"white\" stroke-width=\"{}\"><title>{}: {}, instructions {} to "
        "{}</title></rect>\n",
        x(t.first), y(static_cast<double>(t.offset + t.bytes)), std::max(right, 0.4), h, colour(t),
        h > 3 ? 0.5 : 0, escaped(t.name), size_text(t.bytes), t.first, t.last);
  }
  svg += fmt::format(
      "<line x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"black\" "
      "stroke-dasharray=\"4 3\"/>\n<text x=\"{3:.2f}\" y=\"{4}\">most alive</text>\n",
      x(peak.instruction + 0.5), top, top + height, x(peak.instruction + 0.5) + 4, top + 14);
  for (int i = 0; i <= 4; ++i) {
    double byte = arena * i / 4, t = instructions * i / 4;
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", left - 8,
                       y(byte) + 4, size_text(static_cast<std::int64_t>(byte)));
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{:.0f}</text>\n", x(t),
                       top + height + 18, t);
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">instruction</text>\n",
                     left + width / 2, top + height + 36);
  return svg + "</svg>\n";
}

}  // namespace hocket
