"""The server of the live pages: one process, a guard before it, a frame around every page, and the plain pages."""
