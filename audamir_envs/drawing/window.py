"""A window for ``render_mode="human"``, which does without where there is no display."""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import numpy as np
from PIL import Image

from audamir_envs.drawing.raster import to_rgb
from audamir_envs.drawing.scene import Scene


class Window:
    """Shows scenes, one after another, in one window. A copy or a pickled window starts closed."""

    def __init__(self, title: str = "audamir-envs", scale: float = 1.0) -> None:
        self.title = title
        self.scale = scale
        self._root: Any = None
        self._label: Any = None
        self._image: Any = None  # Tk shows an image only as long as somebody holds it
        self._refused = False

    def show(self, scene: Scene) -> bool:
        """Draws the scene; returns whether there is a window. Without a display one line says so, once."""
        if self._refused or not self._open():
            return False
        import tkinter

        try:
            self._image = tkinter.PhotoImage(master=self._root, data=_ppm(to_rgb(scene, self.scale)), format="PPM")
            self._label.configure(image=self._image)
            self._root.title(scene.title or self.title)
            self._root.update()
        except tkinter.TclError:  # the user has closed the window
            self._root = self._label = self._image = None
            self._refused = True
            return False
        return True

    def close(self) -> None:
        """Closes the window, if there is one; a later ``show`` opens another."""
        root, self._root, self._label, self._image = self._root, None, None, None
        self._refused = False
        if root is not None:
            import tkinter

            with contextlib.suppress(tkinter.TclError):
                root.destroy()

    def _open(self) -> bool:
        if self._root is not None:
            return True
        try:
            import tkinter

            self._root = tkinter.Tk()
            self._label = tkinter.Label(self._root)
            self._label.pack()
        except Exception as error:  # no tkinter, or no display: tkinter.TclError exists only with the former
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            print(f"no window can be opened ({reason}); render_mode='rgb_array' needs none", file=sys.stderr)
            self._refused = True
            return False
        return True

    def __reduce__(self) -> Any:
        return (type(self), (self.title, self.scale))


def _ppm(pixels: np.ndarray) -> bytes:
    height, width, _ = pixels.shape
    return b"P6 %d %d 255\n" % (width, height) + Image.fromarray(pixels).tobytes()
