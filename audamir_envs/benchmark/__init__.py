"""What `audamir bench` runs."""
