import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from audamir_envs.bridges.packing import Layout, as_one_kernel

DTYPES = (np.bool_, np.uint8, np.int8, np.uint16, np.int32, np.uint32, np.float32)


def leaf(shape, dtype, seed):
    bits = np.random.default_rng(seed).integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    return bits[..., 0] % 2 == 1 if dtype == np.bool_ else bits.view(dtype)[..., 0]


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([(), (1,), (3,), (2, 5), (3, 7)]), st.sampled_from(DTYPES)), min_size=1, max_size=6
    ),
    st.integers(0, 1000),
)
def test_every_leaf_comes_back_bit_by_bit(leaves, seed):
    tree = {f"leaf{n}": leaf(shape, dtype, seed + n) for n, (shape, dtype) in enumerate(leaves)}
    layout = Layout(tree)
    data = np.asarray(layout.pack(jax.tree.map(jnp.asarray, tree)))
    assert data.dtype == np.uint8
    assert data.size == layout.size
    assert 0 <= layout.size - sum(value.nbytes for value in tree.values()) < 4  # a gap in front of the large leaves
    numbers = layout.numbers(data)
    back = layout.unpack(jnp.asarray(data))
    for name, value in tree.items():
        read = layout.slots[name].read(data)
        assert read.dtype == value.dtype
        assert read.shape == value.shape
        assert read.tobytes() == value.tobytes()
        assert back[name].dtype == value.dtype
        assert np.asarray(back[name]).tobytes() == value.tobytes()
        assert read.flags.aligned
        place = layout.slots[name].place
        assert (place is None) == (value.size > 8)
        if place is not None and not np.isnan(value).any():
            assert list(numbers[place : place + value.size]) == value.reshape(-1).tolist()


def test_layouts_pass_through_jit():
    tree = {"a": jnp.arange(3, dtype=jnp.int32), "b": jnp.array([True, False])}
    layout = Layout(tree)

    def double(data):
        seen = layout.unpack(data)
        return layout.pack({"a": seen["a"] * 2, "b": ~seen["b"]})

    data = np.asarray(jax.jit(double)(layout.pack(tree)))
    assert layout.slots["a"].read(data).tolist() == [0, 2, 4]
    assert layout.slots["b"].read(data).tolist() == [False, True]


def test_one_kernel_computes_the_same():
    def step(words, action):
        return jnp.where(words > 5, words * 2, words)[::-1] + action, jnp.sum(words)

    words = jnp.arange(300, dtype=jnp.int32)
    kernel = as_one_kernel(step)
    for _ in range(2):
        for one, other in zip(kernel(words, np.int32(3)), step(words, np.int32(3)), strict=True):
            assert np.array_equal(one, other)


def test_one_kernel_of_what_cannot_be_one():
    """Whether or not the compiler can, the result is that of the function."""
    matrix = jnp.arange(4096, dtype=jnp.float32).reshape(64, 64) / 4096 + jnp.eye(64, dtype=jnp.float32)
    decompose = as_one_kernel(lambda matrix: jnp.linalg.qr(matrix)[1])
    for _ in range(2):
        assert np.allclose(decompose(matrix), jnp.linalg.qr(matrix)[1], atol=1e-5)
