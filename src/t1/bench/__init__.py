"""The paper's experiments: a study is a list of runs, a run gives rows, rows give tables."""
