"""What ``audamir bench`` runs: our environments beside their peers, in one process, in balanced order."""
