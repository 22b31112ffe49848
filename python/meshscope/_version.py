"""The version, which is that of the whole of Meshscope (CMakeLists.txt)."""

__version__ = "0.1.0"
