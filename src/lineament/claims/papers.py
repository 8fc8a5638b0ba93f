"""The documents whose statements are checked, with their BibTeX."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Paper:
    """A document: how it is named in the atlas and how it is cited."""

    key: str
    short: str
    title: str
    bibtex: str
    link: str = ""


_ALL = (
    Paper(
        "cohen",
        "Cohen & Razin 2024",
        "Lecture Notes on Linear Neural Networks: A Tale of Optimization and Generalization in Deep Learning",
        """@article{cohen2024lecture,
  title   = {Lecture Notes on Linear Neural Networks: A Tale of Optimization and Generalization in Deep Learning},
  author  = {Cohen, Nadav and Razin, Noam},
  journal = {arXiv preprint arXiv:2408.13767},
  year    = {2024}
}""",
        link="https://arxiv.org/abs/2408.13767",
    ),
    Paper(
        "gissin",
        "Gissin et al. 2020",
        "The Implicit Bias of Depth: How Incremental Learning Drives Generalization",
        """@inproceedings{gissin2020implicit,
  title     = {The Implicit Bias of Depth: How Incremental Learning Drives Generalization},
  author    = {Gissin, Daniel and Shalev-Shwartz, Shai and Daniely, Amit},
  booktitle = {International Conference on Learning Representations},
  year      = {2020}
}""",
        link="https://arxiv.org/abs/1909.12051",
    ),
    Paper(
        "varre",
        "Varre et al. 2023",
        "On the Spectral Bias of Two-Layer Linear Networks",
        """@inproceedings{varre2023spectral,
  title     = {On the Spectral Bias of Two-Layer Linear Networks},
  author    = {Varre, Aditya and Vladarean, Maria-Luiza and Pillaud-Vivien, Loucas and Flammarion, Nicolas},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2023}
}""",
        link="https://openreview.net/forum?id=FFdrXkm3Cz",
    ),
    Paper(
        "hu",
        "Hu et al. 2020",
        "The Surprising Simplicity of the Early-Time Learning Dynamics of Neural Networks",
        """@inproceedings{hu2020surprising,
  title     = {The Surprising Simplicity of the Early-Time Learning Dynamics of Neural Networks},
  author    = {Hu, Wei and Xiao, Lechao and Adlam, Ben and Pennington, Jeffrey},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2020}
}""",
        link="https://arxiv.org/abs/2006.14599",
    ),
    Paper(
        "hacohen",
        "Hacohen & Weinshall 2022",
        "Principal Components Bias in Over-parameterized Linear Models, and its Manifestation in Deep Neural Networks",
        """@article{hacohen2022principal,
  title   = {Principal Components Bias in Over-parameterized Linear Models, and its Manifestation in Deep
             Neural Networks},
  author  = {Hacohen, Guy and Weinshall, Daphna},
  journal = {Journal of Machine Learning Research},
  volume  = {23},
  year    = {2022}
}""",
        link="https://arxiv.org/abs/2105.05553",
    ),
    Paper(
        "beyond",
        "Beyond the papers",
        "Exact solutions that contain the papers' statements (after Braun et al. 2022 and Kunin et al. 2024)",
        """@inproceedings{braun2022exact,
  title     = {Exact Learning Dynamics of Deep Linear Networks with Prior Knowledge},
  author    = {Braun, Lukas and Domin{\\'e}, Cl{\\'e}mentine and Fitzgerald, James and Saxe, Andrew},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2022}
}
@inproceedings{kunin2024get,
  title     = {Get Rich Quick: Exact Solutions Reveal How Unbalanced Initializations Promote Rapid Feature Learning},
  author    = {Kunin, Daniel and Ravent{\\'o}s, Allan and Domin{\\'e}, Cl{\\'e}mentine and Chen, Feng and Klindt, David
               and Saxe, Andrew and Ganguli, Surya},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2024}
}""",
    ),
)

PAPERS: dict[str, Paper] = {paper.key: paper for paper in _ALL}
