"""Speed as a feature: the reference server and this kit do the same work in one run (`make bench`)."""
