"""How experiments and claims are run: one or many, here or on many machines, and how what they find is kept.

Nothing is imported before it is used: a worker process must set its thread limits first.
"""
