"""What checks annotations while the tests run; a whole number passes for a real one, as everywhere in Python."""

from beartype import BeartypeConf, beartype

check = beartype(conf=BeartypeConf(is_pep484_tower=True))
