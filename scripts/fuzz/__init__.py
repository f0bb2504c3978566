"""Damaged and crafted files for every format that proxyuse reads, and what comes of them."""
