"""Homework: a page of questions for a class, whose answers are checked and collected on the teacher's machine."""
