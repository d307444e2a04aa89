"""Seeds of programs that come from torch: drawn from its default generator, one for each call."""

import torch

_LEAST = -(1 << 63)


class TorchSeeds:
    """torch's default CPU generator, as `lamina.runtime.random_state.SeedSource`."""

    def draw(self) -> int:
        """The next 64 bits; `torch.manual_seed` and `torch.set_rng_state` decide which."""
        return int(torch.empty((), dtype=torch.int64).random_(_LEAST, None))

    def seed_in_use(self) -> int:
        """What `torch.manual_seed` was last given."""
        return torch.default_generator.initial_seed()


TORCH_SEEDS = TorchSeeds()
