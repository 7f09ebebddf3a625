"""Pictures of runs, all made from traces."""
