"""Random histories of every pattern, as data: made from a seed, played on the engine and in a model of plain Python."""
