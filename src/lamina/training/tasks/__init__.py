"""What is learned from data of a kind: one file a kind; `kinds` has the table."""
