"""A source over HTTP: answers as JSON, CSV, Arrow and SDMX-CSV, and a page to ask from."""
