#!/usr/bin/env python3
"""Draws one iteration of a trace (hocket run --trace) as SVG: draw_trace.py TRACE.json [ITERATION] > picture.svg"""
import json
import sys
from xml.sax.saxutils import escape

events = json.load(open(sys.argv[1]))["traceEvents"]
iteration = int(sys.argv[2]) if len(sys.argv) > 2 else 1
colours = {"kernel": "#7aa6c2", "copy": "#b0a3c9", "start": "#e0a458", "progress": "#c9b458", "wait": "#d9d9d9", "transfer": "#8fb996"}
left, width, lane_height, gap = 110, 860, 26, 14

lanes = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
slices = [e for e in events if e["ph"] == "X" and e.get("args", {}).get("iteration") == iteration]
begin = min(e["ts"] for e in slices)
end = max(e["ts"] + e["dur"] for e in slices)
x = lambda t: left + (t - begin) / (end - begin) * width
rows, y = {}, gap
for (rank, lane), name in sorted(lanes.items()):
    if lane == 0:
        y += gap // 2
        continue
    rows[rank, lane] = (y, f"rank {rank} {name}")
    y += lane_height + 4
out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{y + 40}" '
       'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
for top, name in rows.values():
    out.append(f'<text x="4" y="{top + 17}">{escape(name)}</text>')
    out.append(f'<rect x="{left}" y="{top}" width="{width}" height="{lane_height}" fill="#f7f7f7"/>')
for e in slices:
    top, _ = rows[e["pid"], e["tid"]]
    w = max(x(e["ts"] + e["dur"]) - x(e["ts"]), 1)
    node = e["args"].get("node", e["name"])
    out.append(f'<rect x="{x(e["ts"]):.1f}" y="{top}" width="{w:.1f}" height="{lane_height}" '
               f'fill="{colours[e["cat"]]}" stroke="white" stroke-width="0.5"><title>{escape(node)} {e["name"]}, '
               f'{e["dur"]:.1f} us</title></rect>')
    if w > 7 * len(node):
        out.append(f'<text x="{x(e["ts"]) + w / 2:.1f}" y="{top + 17}" text-anchor="middle">{escape(node)}</text>')
last = {}
for e in sorted((e for e in events if e["ph"] in "stf"), key=lambda e: (e["id"], e["ts"])):
    here = (x(e["ts"]), rows[e["pid"], e["tid"]][0] + lane_height / 2)
    if e["ph"] != "s" and e["id"] in last and begin <= e["ts"] <= end:
        (x0, y0), (x1, y1) = last[e["id"]], here
        out.append(f'<path d="M{x0:.1f},{y0} C{x0 + 12:.1f},{y0} {x1 - 12:.1f},{y1} {x1:.1f},{y1}" fill="none" '
                   'stroke="#a33" stroke-width="0.8"/>')
    if begin <= e["ts"] <= end:
        last[e["id"]] = here
marks, at = list(colours.items()), left
for name, colour in marks:
    out.append(f'<rect x="{at}" y="{y + 10}" width="12" height="12" fill="{colour}"/>'
               f'<text x="{at + 16}" y="{y + 20}">{name}</text>')
    at += 90
out.append(f'<text x="{left + width}" y="{y + 20}" text-anchor="end">{end - begin:.0f} us</text></svg>')
print("\n".join(out))
