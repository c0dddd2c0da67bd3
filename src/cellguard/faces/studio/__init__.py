"""The studio: a page in the browser from records to a signed release, served on this machine. It asks and shows."""
