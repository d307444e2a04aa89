"""The demo shows every layer that there is."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import lamina


def test_every_layer_is_shown() -> None:
    path = Path(__file__).parents[2] / "examples" / "digits" / "demo.py"
    spec = spec_from_file_location("digits_demo", path)
    assert spec is not None and spec.loader is not None
    demo = module_from_spec(spec)
    spec.loader.exec_module(demo)
    assert tuple(demo.LAYERS) == lamina.LAYERS
