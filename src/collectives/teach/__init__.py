"""What lessons share, and later the grader."""
