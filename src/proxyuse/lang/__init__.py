"""The language of programs: terms, positions, rewriting, text, meaning.

Knows nothing of data or models.
"""

from proxyuse.lang.parse import parse_term
from proxyuse.lang.text import term_text

__all__ = ["parse_term", "term_text"]
