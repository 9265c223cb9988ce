import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from audamir_envs.bridges.packing import Layout

DTYPES = (np.bool_, np.uint8, np.int8, np.uint16, np.int32, np.uint32, np.float32)


def leaf(shape, dtype, seed):
    bits = np.random.default_rng(seed).integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    return bits[..., 0] % 2 == 1 if dtype == np.bool_ else bits.view(dtype)[..., 0]


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([(), (1,), (3,), (2, 5)]), st.sampled_from(DTYPES)), min_size=1, max_size=6),
    st.integers(0, 1000),
)
def test_every_leaf_comes_back_bit_by_bit(leaves, seed):
    tree = {f"leaf{n}": leaf(shape, dtype, seed + n) for n, (shape, dtype) in enumerate(leaves)}
    layout = Layout(tree)
    data = np.asarray(layout.pack(jax.tree.map(jnp.asarray, tree)))
    assert data.dtype == np.uint8
    assert data.size == layout.size == sum(value.nbytes for value in tree.values())
    back = layout.unpack(jnp.asarray(data))
    for name, value in tree.items():
        read = layout.slots[name].read(data)
        assert read.dtype == value.dtype
        assert read.shape == value.shape
        assert read.tobytes() == value.tobytes()
        assert back[name].dtype == value.dtype
        assert np.asarray(back[name]).tobytes() == value.tobytes()
        assert read.flags.aligned


def test_layouts_pass_through_jit():
    tree = {"a": jnp.arange(3, dtype=jnp.int32), "b": jnp.array([True, False])}
    layout = Layout(tree)

    def double(data):
        seen = layout.unpack(data)
        return layout.pack({"a": seen["a"] * 2, "b": ~seen["b"]})

    data = np.asarray(jax.jit(double)(layout.pack(tree)))
    assert layout.slots["a"].read(data).tolist() == [0, 2, 4]
    assert layout.slots["b"].read(data).tolist() == [False, True]
