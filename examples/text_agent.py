"""An agent that reads positions and writes moves, with a function in place of a language model.

python examples/text_agent.py --games 10
"""

import argparse

import audamir_envs
from audamir_envs import agents, arena

FAULTY_EVERY = 7


def answers(questions):
    """One answer to each question. A language model would be given ``str(question)`` of all of them at once."""
    told = []
    for number, question in enumerate(questions):
        if question.refused is None and number % FAULTY_EVERY == FAULTY_EVERY - 1:
            told.append("I would rather not say.")  # what models do; it is asked again, with the reason
        else:
            told.append(f" {max(question.moves, key=lambda move: (move != 'pass', move))}\n")
    return told


def main() -> None:
    """Plays against random moves, and shows a question."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="stigmergy-v0")
    parser.add_argument("--games", type=int, default=10)
    arguments = parser.parse_args()
    seen = []

    def model(questions):
        seen.extend(questions[:1])
        return answers(questions)

    env = audamir_envs.make(arguments.env)
    reader = agents.from_text(model, "reader", many=True)
    result = arena.evaluate(env, [reader, "random"], games=arguments.games, seed=0)
    print(seen[0])
    print(
        f"\nscore of {arguments.games} games against random: {result.score['reader']:.2f}; lost unread: {reader.lost}"
    )


if __name__ == "__main__":
    main()
