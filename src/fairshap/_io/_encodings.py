"""Text in UTF-8, whatever it was encoded in, and back."""

import codecs
from dataclasses import dataclass

from fairshap.exceptions import FileFormatError, InputError

_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


@dataclass(frozen=True, slots=True)
class Encoded:
    """The text of a file.

    Parameters
    ----------
    data : bytes
        The text in UTF-8, without a byte order mark.
    mark : bytes
        The byte order mark that the file begins with, mostly none.
    encoding : str
        How the file is encoded after it.
    source : str
        What errors call the file.
    exact : bool
        Whether the text, encoded again, is the file. Some encodings have two ways to write the same.
    """

    data: bytes
    mark: bytes
    encoding: str
    source: str
    exact: bool = True

    @property
    def is_utf8(self) -> bool:
        """Whether the file is encoded as the data are."""
        return self.encoding == "utf-8"

    @classmethod
    def read(cls, raw: bytes, source: str, encoding: str | None) -> "Encoded":
        """Return the text of a file; without an encoding it must be UTF-8."""
        mark = next((mark for mark in _MARKS if raw.startswith(mark)), b"")
        name = _canonical(encoding or "utf-8")
        if mark and not encoding and _MARKS[mark] != "utf-8":
            raise FileFormatError(
                f"{source!r} begins like {_MARKS[mark][:6].upper()}, not UTF-8; "
                f"give encoding={_MARKS[mark][:6]!r}."
            )
        # A mark belongs to the encodings that are named after it; to others it is text.
        if mark and _MARKS[mark].startswith(name):
            name = _MARKS[mark]
        else:
            mark = b""
            # Python would add a mark to these.
            name += "-le" if name in ("utf-16", "utf-32") else ""
        body = raw[len(mark) :]
        if name == "utf-8" and body.isascii():
            return cls(body, mark, name, source)
        try:
            text = body.decode(name)
        except UnicodeDecodeError as error:
            raise FileFormatError(_undecodable(body, error, source, name)) from error
        if name == "utf-8":
            return cls(body, mark, name, source)
        # "replace": what cannot be encoded at all is not exact either.
        return cls(text.encode(), mark, name, source, exact=text.encode(name, "replace") == body)

    def encode(self, data: bytes) -> bytes:
        """Return text in UTF-8 as the file is encoded."""
        if not self.exact:
            raise FileFormatError(
                f"{self.source!r} cannot be written again as it is: {self.encoding!r} has several ways to "
                "write its text. Give a file in UTF-8."
            )
        try:
            return self.mark + data.decode().encode(self.encoding)
        except UnicodeEncodeError as error:
            raise FileFormatError(
                f"{self.source!r} is encoded in {self.encoding!r}, which has no "
                f"{error.object[error.start]!r}; give a file in UTF-8."
            ) from error


def _canonical(encoding: str) -> str:
    try:
        name = codecs.lookup(encoding).name
        "".encode(name)
    except LookupError as error:
        raise InputError(
            f"encoding={encoding!r} is not an encoding of text that Python knows; usual ones are "
            "'utf-8', 'latin-1', 'cp1252' and 'utf-16'."
        ) from error
    return "utf-8" if name == "utf-8-sig" else name


def _undecodable(body: bytes, error: UnicodeDecodeError, source: str, name: str) -> str:
    line = body[: error.start].count(b"\n") + 1
    advice = (
        "Give its encoding, for example encoding='latin-1'."
        if name == "utf-8"
        else "Give the encoding that it was written in."
    )
    return f"line {line} of {source!r} is not {name.upper()} (byte 0x{body[error.start]:02x}). {advice}"
