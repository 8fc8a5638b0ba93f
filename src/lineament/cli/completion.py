"""What the Tab key offers beyond commands and options: ids of claims, papers, data sets, presets."""


def claims(incomplete: str) -> list[tuple[str, str]]:
    """Ids of claims, with their titles."""
    from lineament.claims import all_claims

    return [(claim.id, claim.title) for claim in all_claims().values() if claim.id.startswith(incomplete)]


def papers(incomplete: str) -> list[tuple[str, str]]:
    """Keys of papers, with their authors."""
    from lineament.claims import PAPERS

    return [(paper.key, paper.short) for paper in PAPERS.values() if paper.key.startswith(incomplete)]


def claims_and_papers(incomplete: str) -> list[tuple[str, str]]:
    """Keys of papers, then ids of claims."""
    return papers(incomplete) + claims(incomplete)


def data_sets(incomplete: str) -> list[str]:
    """Names of data sets."""
    from lineament.data import catalogue

    return [name for name in catalogue.names() if name.startswith(incomplete)]


def presets(incomplete: str) -> list[tuple[str, str]]:
    """Settings of the explorer, with their titles."""
    from lineament.report import explorer

    return [(preset.id, preset.title) for preset in explorer.presets().values() if preset.id.startswith(incomplete)]
