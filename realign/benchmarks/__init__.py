"""Numbers: how often a model's answers are preferred to a baseline's, and how sure that is."""
