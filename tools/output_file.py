"""The file of `lamina-opt -o`, which is written only when there is a result."""

from io import StringIO
from pathlib import Path


class OutputFile(StringIO):
    """Collects what is written; the file appears when a chunk is complete, so no failure cuts it.

    Text is encoded as UTF-8, the object target's characters as the bytes they stand for.
    """

    def __init__(self, path: str, encoding: str) -> None:
        super().__init__()
        self._path = Path(path)
        self._text_encoding = encoding

    def flush(self) -> None:
        """Write everything so far."""
        self._path.write_bytes(self.getvalue().encode(self._text_encoding))
