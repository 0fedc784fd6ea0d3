#include "golden_plans.h"

#include <algorithm>
#include <filesystem>

#include "hocket/base/file.h"
#include "hocket/base/text.h"

namespace hocket::testing {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(std::string_view text) {
  Lines lines;
  for (std::string_view line : split(text, '\n')) lines.emplace_back(line);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string text_of(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

Lines outcome_of(const GoldenPlan& golden, const GoldenPlan::Edit& edit,
                 const PlanOutcome& outcome) {
  Lines lines = lines_of(golden.plan);
  auto equal = [](std::string_view line, std::string_view wanted) {
    return trim(line) == trim(wanted);
  };
  std::ptrdiff_t from = 0;
  for (const GoldenPlan::Change& c : edit.changes) {
    auto place =
        std::search(lines.begin() + from, lines.end(), c.before.begin(), c.before.end(), equal);
    if (place == lines.end()) return {"no such lines"};
    place = lines.erase(place, place + std::ssize(c.before));
    place = lines.insert(place, c.after.begin(), c.after.end());
    from = place - lines.begin() + std::ssize(c.after);
  }
  return lines_of(outcome(text_of(lines)));
}

}  // namespace

std::vector<std::string> plan_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".plan") files.push_back(entry.path().string());
  std::ranges::sort(files);
  return files;
}

GoldenPlan read_golden_plan(const std::string& path) {
  std::string text = read_file(path);
  GoldenPlan golden;
  std::size_t start = text.find("\nplan") + 1;
  golden.head = text.substr(0, start);
  std::size_t end = text.find("\n===\n", start);
  golden.plan = text.substr(start, end == text.npos ? end : end + 1 - start);
  if (end == text.npos) return golden;
  bool begins = true;
  for (const std::string& line : lines_of(text.substr(end + 5))) {
    if (line.empty()) {
      begins = true;
      continue;
    }
    if (begins) golden.edits.emplace_back();
    begins = false;
    auto& [notes, changes, outcome] = golden.edits.back();
    if (line.starts_with("# ")) {
      notes.push_back(line);
    } else if (line.starts_with("- ")) {
      if (changes.empty() || !changes.back().after.empty()) changes.emplace_back();
      changes.back().before.push_back(line.substr(2));
    } else if (line.starts_with("+ ") && !changes.empty()) {
      changes.back().after.push_back(line.substr(2));
    } else {
      outcome.push_back(line);
    }
  }
  return golden;
}

std::string to_text(const GoldenPlan& golden) {
  std::string text = golden.head + golden.plan;
  std::string_view separator = "===\n";
  for (const GoldenPlan::Edit& edit : golden.edits) {
    text += separator;
    separator = "\n";
    text += text_of(edit.notes);
    for (const GoldenPlan::Change& c : edit.changes) {
      for (const std::string& line : c.before) text += "- " + line + "\n";
      for (const std::string& line : c.after) text += "+ " + line + "\n";
    }
    text += text_of(edit.outcome);
  }
  return text;
}

void update_edits(GoldenPlan& golden, const PlanOutcome& outcome) {
  for (GoldenPlan::Edit& edit : golden.edits) edit.outcome = outcome_of(golden, edit, outcome);
}

}  // namespace hocket::testing
