#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/measure_code on a small tree whose figures are counted by hand."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "measure_code"
TREE = {
    "src/base/shape.hpp": """// What a shape is.
#pragma once
class Shape {
 public:
  virtual ~Shape() = default;
};
""",
    "src/core/shapes.cpp": """#include "base/shape.hpp"
template <class T, class U>
class Named : public Shape {
  int a_ = 0;  // ";" in a comment
  int b_;
};
struct Square final : Named<int, Pair<int, char>> {
  struct Shape {
    int x;
  };
  const char* text = "{;";
  int side_length() const { return 1; }
};
""",
    "src/core/nested.cpp": """struct Square::Corner {
  int x, y;
};
struct Square::Edge : Shape {};
""",
    "bench/one.cpp": "int a;\nint b;\n",
    "docs/page.md": "short\n" + "x" * 101 + "\n| " + "y" * 200 + " |\n",
}


def measured(*arguments):
    result = subprocess.run([sys.executable, TOOL, *arguments], capture_output=True, text=True)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in result.stdout.splitlines()]
    return result, {row[0]: row[-1] for row in rows}


class MeasureCode(unittest.TestCase):
    def test_counts_a_small_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in TREE.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            _, rows = measured(folder)
        self.assertEqual(rows["lines of src (not empty)"], "23")
        self.assertEqual(rows["statements of src"], "13")
        self.assertEqual(rows["statements of bench"], "2")
        self.assertEqual(rows["types"], "6")
        self.assertEqual(rows["types that share their name"], "33 %")
        self.assertEqual(rows["deepest inheritance"], "3 (Square)")
        self.assertEqual(rows["most fields"], "2 (Named)")
        self.assertEqual(rows["lines with comments"], "9 %")
        self.assertEqual(rows["Markdown over 100 columns, but tables"], "50 %")
        self.assertEqual(rows["biggest room"], "74 % (core)")

    def test_says_what_is_no_tree(self):
        result, _ = measured("/nowhere")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("/nowhere has no folder src", result.stderr)


if __name__ == "__main__":
    unittest.main()
