"""Mutants of the formulas behind the claims: each should turn a claim that rests on it red."""
