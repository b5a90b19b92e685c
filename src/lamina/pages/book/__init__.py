"""The pages without a server: a site that opens from a file, the book as PDF, and single drawings for slides."""
