"""Models become programs. One translator a family; none of the model libraries is imported."""

from proxyuse.models.registry import register, translate
from proxyuse.models.supported import supported_table

__all__ = ["register", "supported_table", "translate"]
