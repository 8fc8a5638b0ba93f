"""What developers run on the package from outside: which tests a change needs, and whether tests would notice one."""
