"""ReAlign Studio: curate a reviser's edits, train a small policy on them, and see whether it got better."""

__version__ = "0.1.0"
