"""The sampler is legal always and uniform by chi-square."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from audamir_envs import sample_legal

_DRAWS = 40_000


@pytest.mark.parametrize(("actions", "legal"), [(794, 793), (794, 40), (64, 5), (7, 2), (1, 1), (1027, 300)])
def test_uniform_over_the_legal_actions(actions, legal):
    chosen = np.sort(np.random.default_rng(actions + legal).permutation(actions)[:legal])
    mask = np.zeros(actions, bool)
    mask[chosen] = True
    keys = jax.random.split(jax.random.key(legal), 40)
    draw = jax.jit(lambda key: sample_legal(key, jnp.broadcast_to(jnp.asarray(mask), (_DRAWS // 40, actions))))
    counts = np.bincount(np.concatenate([np.asarray(draw(key)) for key in keys]), minlength=actions)
    assert counts[~mask].sum() == 0
    expected = _DRAWS / legal
    chi_square = ((counts[mask] - expected) ** 2 / expected).sum()
    # Mean legal-1, standard deviation sqrt(2(legal-1)); five of them on either side.
    assert abs(chi_square - (legal - 1)) <= 5 * np.sqrt(2 * max(legal - 1, 0)) + 1e-9


def test_pairs_of_actions_are_equally_likely_in_each_order():
    """Two legal actions far apart or close together: neither is favoured, whatever their numbers."""
    for first, second in [(0, 1), (0, 793), (256, 512), (13, 26)]:
        mask = jnp.zeros(794, bool).at[jnp.array([first, second])].set(True)
        drawn = sample_legal(jax.random.key(first), jnp.broadcast_to(mask, (20_000, 794)))
        share = float((drawn == first).mean())
        assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(20_000)


def test_old_and_new_keys_and_vmap():
    mask = jnp.array([False, True, False, True])
    for make_key in (jax.random.key, jax.random.PRNGKey):
        keys = jax.random.split(make_key(0), 100)
        drawn = jax.vmap(sample_legal, in_axes=(0, None))(keys, mask)
        assert set(np.unique(drawn).tolist()) == {1, 3}
        assert drawn.dtype == jnp.int32
