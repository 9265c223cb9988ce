"""PettingZoo and Gymnasium environments over the functional ones."""
