"""Models become programs. One translator a family; none of the model libraries is imported."""

from proxyuse.models.registry import register, translate

__all__ = ["register", "translate"]
