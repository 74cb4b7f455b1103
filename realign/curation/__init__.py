"""The human's side, pure: what changed between draft and revision, and the text a person makes of it."""
