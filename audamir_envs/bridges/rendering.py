"""What ``render`` returns or shows, the same for every bridge."""

from __future__ import annotations

import numpy as np

from audamir_envs.core import Environment, State
from audamir_envs.drawing.raster import to_rgb
from audamir_envs.drawing.svg import to_svg
from audamir_envs.drawing.window import Window

RENDER_MODES = ("human", "ansi", "rgb_array", "svg")
RENDER_FPS = 2
RGB_SCALE = 2.0
"""Pixels of a frame for each unit of the scene: enough for video."""


class Renderer:
    """Draws the positions of one environment in one mode; ``human`` without a display prints the board as text."""

    def __init__(self, env: Environment, mode: str | None) -> None:
        """Raises: ValueError naming the valid modes."""
        if mode is not None and mode not in RENDER_MODES:
            raise ValueError(f"render_mode={mode!r} is not valid: use None, {', '.join(map(repr, RENDER_MODES))}")
        self._env = env
        self.mode = mode
        self._window = Window(env.id)

    def render(self, state: State, last_action: int | None) -> str | np.ndarray | None:
        """ansi and svg: str; rgb_array: uint8 [height, width, 3]; human: None, having shown the position.

        Args: last_action: marked in the drawing; None, or a number that is no action, where there is none.
        """
        if last_action is not None and not 0 <= last_action < self._env.num_actions:
            last_action = None
        if self.mode == "ansi":
            return self._env.board_text(state, last_action)
        scene = self._env.scene(state, last_action)
        if self.mode == "svg":
            return to_svg(scene)
        if self.mode == "rgb_array":
            return to_rgb(scene, RGB_SCALE)
        if not self._window.show(scene):
            print(self._env.board_text(state, last_action), flush=True)
        return None

    def close(self) -> None:
        """Closes the window, if one is open; may be called again."""
        self._window.close()
