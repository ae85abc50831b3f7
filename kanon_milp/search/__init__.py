"""The primal side."""
