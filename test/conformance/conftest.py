"""Modules in this folder import each other by name, as `python test/conformance` finds them."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
