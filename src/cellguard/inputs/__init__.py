"""From a job to its tables: records, cells, populations, latent cells and earlier releases."""
