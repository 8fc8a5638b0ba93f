"""One thread: the models are small, and the tests run side by side."""

import pytest


@pytest.fixture(autouse=True)
def one_thread():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def in_place():
    """Models that write into their inputs, or give the same without."""
    torch = pytest.importorskip("torch")

    class InPlace(torch.nn.Module):
        def __init__(self, writes):
            super().__init__()
            self.writes = writes
            self.layer, self.out = torch.nn.Linear(3, 4).double(), torch.nn.Linear(4, 2).double()
            for parameter in self.parameters():
                torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(parameter.numel()))

        def forward(self, x):
            x = x.sub_(1).mul_(2) if self.writes else (x - 1) * 2
            return self.out(torch.tanh(self.layer(x)))

    return InPlace
