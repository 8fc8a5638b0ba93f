"""Mutation testing: small changes to the mathematics, one at a time, each of which some unit test should notice."""
