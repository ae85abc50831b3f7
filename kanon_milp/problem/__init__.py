"""The problem: table and roles, recodings, what each group must have. Nothing here knows how it is solved."""
