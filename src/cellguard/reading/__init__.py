"""The one vocabulary for text that people write: words, numbers, delimiters, encodings, line breaks."""
