"""Results in prose, and in tables of text, HTML, Markdown and LaTeX."""
