"""Rows in, rows out: files to records, decisions to pairs, pairs to files."""
