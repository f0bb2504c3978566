"""What people see of a result."""
