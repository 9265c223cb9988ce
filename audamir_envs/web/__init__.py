"""The page in the browser: play, replay and look into a game. ``app`` is the server, ``page/`` what the browser gets.

The server keeps no games: the browser sends with each request the whole game (``games.Table``), which is played again.
What is kept here (compiled programs, the states of the last games asked for) only saves time.
"""
