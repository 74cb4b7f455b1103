"""Where weights come from: what can be named, and how it is loaded."""
