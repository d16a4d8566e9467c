"""Writers of what is derived from the catalog: one module per file that is made."""
