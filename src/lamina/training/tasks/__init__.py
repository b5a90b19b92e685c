"""What is learned from data of a kind: one file per kind; `kinds` has the table."""
