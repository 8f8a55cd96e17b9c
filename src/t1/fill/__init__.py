"""What makes a fill trustworthy: a rehearsal shaped like the table's gaps, a blend, intervals, rules."""
