"""Thin adapters: they carry all header pairs and the raw body to the core, and stop reading at the cap."""
