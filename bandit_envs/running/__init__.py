"""Workers of this machine and of clusters, for studies and for logs."""
