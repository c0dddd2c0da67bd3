"""What was shown of some records before: tables, the records behind their cells, and how near new ones come."""
