"""From pairs to weights: which rows are trained on, with which loss, and the two recipes that do it."""
