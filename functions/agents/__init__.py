"""The agents of this repository: one to learn from, two for tests. Yours may live here or in a package of your own."""
