"""Texts: files, words, dictionaries, corpora and the phrase book."""
