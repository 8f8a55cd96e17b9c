"""What fills a gap: one list, `catalog.METHODS`."""
