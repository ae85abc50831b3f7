"""What people see: terminal, result folder, quality measures."""
