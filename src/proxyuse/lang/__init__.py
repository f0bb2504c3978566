"""The language of programs: terms, positions, rewriting, text and evaluation.

Independent of tables and models.
"""

from proxyuse.lang.parse import parse_term
from proxyuse.lang.text import term_text

__all__ = ["parse_term", "term_text"]
