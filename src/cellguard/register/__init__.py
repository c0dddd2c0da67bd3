"""The register of a source: everything that was ever answered from it, in one durable place."""
