"""Gymnasium's own wrappers and vector environments: exact returns and lengths in both autoreset modes."""

import functools

import gymnasium
import numpy as np
import pytest
from frameworks.games import GAMES
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import RecordEpisodeStatistics, RecordVideo, TimeLimit

from audamir_envs.bridges.registration import gymnasium_id

pytestmark = pytest.mark.frameworks

every_game = pytest.mark.parametrize("game", GAMES)
both_modes = pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
LANES = 6


def make(game, **settings):
    return gymnasium.make(gymnasium_id(game), opponent="random", **GAMES[game], **settings)


def play(env, rng, **reset):
    """[(observation, reward, terminated, truncated, info)] of one episode of random legal play."""
    _, info = env.reset(**reset)
    steps = []
    while not steps or not (steps[-1][2] or steps[-1][3]):
        steps.append(env.step(int(rng.choice(np.flatnonzero(info["action_mask"])))))
        info = steps[-1][4]
    return steps


def counted(env, steps, mode, seed=5):
    """(what the wrapper said, what we counted ourselves): of each lane, [(return, length)]."""
    rng = np.random.default_rng(2)
    _, info = env.reset(seed=seed)
    said, ours = ([[] for _ in range(LANES)] for _ in range(2))
    returns, lengths, waits = np.zeros(LANES), np.zeros(LANES, int), np.zeros(LANES, bool)
    for _ in range(steps):
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in info["action_mask"]])
        _, rewards, terminated, truncated, info = env.step(actions)
        done = terminated | truncated
        assert not (waits & done).any()
        assert not rewards[waits].any()
        returns += rewards
        lengths += ~waits
        for lane in np.flatnonzero(done):
            ours[lane].append((float(returns[lane]), int(lengths[lane])))
        returns[done], lengths[done] = 0, 0
        waits = done if mode is AutoresetMode.NEXT_STEP else waits
        for lane in np.flatnonzero(info.get("_episode", np.zeros(LANES))):
            said[lane].append((float(info["episode"]["r"][lane]), int(info["episode"]["l"][lane])))
    return said, ours


@every_game
def test_episode_statistics(game):
    env = RecordEpisodeStatistics(make(game))
    rng = np.random.default_rng(0)
    for seed in range(5):
        steps = play(env, rng, seed=seed)
        episode = steps[-1][4]["episode"]
        assert episode["r"] == sum(step[1] for step in steps)
        assert episode["l"] == len(steps)
        assert all("episode" not in step[4] for step in steps[:-1])
    assert len(env.return_queue) == 5
    assert {float(one) for one in env.return_queue} <= {-1.0, -0.5, 0.0, 0.25, 1.0}


@every_game
@both_modes
def test_vector_statistics_of_our_vector_environment(game, mode):
    env = gymnasium.make_vec(
        gymnasium_id(game),
        num_envs=LANES,
        vectorization_mode="vector_entry_point",
        opponent="random",
        autoreset_mode=mode,
        **GAMES[game],
    )
    said, ours = counted(gymnasium.wrappers.vector.RecordEpisodeStatistics(env), 100, mode)
    assert said == ours
    assert min(map(len, ours)) > 1


@every_game
@both_modes
def test_vector_statistics_of_single_environments_in_a_row(game, mode):
    """The same by Gymnasium's SyncVectorEnv over our single environments."""
    env = gymnasium.vector.SyncVectorEnv([lambda: make(game)] * LANES, autoreset_mode=mode)
    said, ours = counted(gymnasium.wrappers.vector.RecordEpisodeStatistics(env), 60, mode)
    assert said == ours
    assert sum(map(len, ours)) > LANES


def test_observation_wrappers_refuse_same_step():
    """A limit of Gymnasium's; when this fails, docs/frameworks.md has something to take back."""
    make_vec = functools.partial(
        gymnasium.make_vec,
        gymnasium_id("stigmergy-v0"),
        num_envs=LANES,
        vectorization_mode="vector_entry_point",
        opponent="random",
        **GAMES["stigmergy-v0"],
    )
    flat = gymnasium.wrappers.vector.FlattenObservation(make_vec())
    assert flat.reset(seed=0)[0].shape == (LANES, *flat.single_observation_space.shape)
    with pytest.raises(ValueError, match="Expected autoreset_mode to be NEXT_STEP or DISABLED"):
        gymnasium.wrappers.vector.FlattenObservation(make_vec(autoreset_mode="SAME_STEP"))


@every_game
def test_time_limit(game):
    env = RecordEpisodeStatistics(TimeLimit(make(game), 3))
    cut = 0
    for seed in range(10):
        steps = play(env, np.random.default_rng(seed), seed=seed)
        assert len(steps) <= 3
        terminated, truncated = steps[-1][2:4]
        cut += not terminated
        assert truncated == (len(steps) == 3)
        assert steps[-1][4]["episode"]["l"] == len(steps)
        if not terminated:  # cut from outside: the game itself goes on
            assert steps[-1][1] == 0
            assert 0 < env.get_wrapper_attr("action_masks")().sum() < env.action_space.n
    assert cut > 0
    assert gymnasium.make(gymnasium_id(game), opponent="random", max_episode_steps=3, **GAMES[game]).spec is not None


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")  # MoviePy's
@every_game
def test_record_video(game, tmp_path):
    pytest.importorskip("moviepy", reason="MoviePy is not installed: see docs/frameworks.md")
    import imageio_ffmpeg

    folder = tmp_path / "videos"
    env = RecordVideo(make(game, render_mode="rgb_array"), str(folder), episode_trigger=lambda episode: episode < 2)
    rng = np.random.default_rng(0)
    lengths = [len(play(env, rng, seed=seed)) for seed in range(3)]
    env.close()
    videos = sorted(folder.glob("*.mp4"))
    assert [video.name for video in videos] == ["rl-video-episode-0.mp4", "rl-video-episode-1.mp4"]
    for video, length in zip(videos, lengths, strict=False):
        frames, _ = imageio_ffmpeg.count_frames_and_secs(str(video))
        assert frames == length + 1
        reader = imageio_ffmpeg.read_frames(str(video))
        width, height = next(reader)["size"]
        pictures = [np.frombuffer(frame, np.uint8).reshape(height, width, 3) for frame in reader]
        assert all(picture.std() > 10 for picture in pictures)
        assert any(not np.array_equal(pictures[0], picture) for picture in pictures[1:])
