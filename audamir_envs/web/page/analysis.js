// What a level thinks of the game on the board, asked for when it is wanted.

import { ask } from "./api.js";
import { button, choice, html } from "./element.js";

const CHUNK = 4; // positions of one question: small, so that the graph grows and other questions come between

export class Analysis {
  // game(): the game as the server wants it.
  constructor(replay, game) {
    this.replay = replay;
    this.game = game;
    this.run = 0;
    this.pick = html("span");
    this.note = html("p", { className: "note", role: "status" });
    this.one = button("This position", () => this.#ask([this.replay.ply]));
    this.all = button("Whole game", () => this.#ask([...Array(this.replay.last + 1).keys()]));
    this.follows = html("input", { type: "checkbox", onchange: () => this.follow() });
    this.stop = button("Stop", () => { this.run += 1; this.#say(""); }, { hidden: true });
    this.element = html("section", { className: "panel", "aria-label": "Analysis" },
      html("h2", {}, "Analysis"),
      html("div", { className: "row" }, this.pick, this.one, this.all, this.stop, html("label", { className: "switch" }, this.follows, "follow the game")),
      replay.switches(), this.note, replay.graph, replay.thought);
  }

  reset(agents) {
    this.run += 1;
    const best = agents.find(([name]) => name === "zero") ?? agents.at(-1);
    if (!agents.some(([name]) => name === this.agent)) this.agent = best[0];
    this.pick.replaceChildren(choice("by", agents, this.agent, (agent) => {
      this.agent = agent;
      this.run += 1;
      this.replay.evaluations.length = 0;
      this.replay.judged();
    }));
    this.#say("");
  }

  // Evaluates the newest position too, where that is wanted.
  follow() {
    if (this.follows.checked && !this.replay.evaluations[this.replay.last]) this.#ask([this.replay.last]);
  }

  // What is known, as far as it fits into one question.
  kept() {
    const told = Array.from(this.replay.evaluations, (one) => (one ? { ...one, agent: this.agent, moves: one.moves?.slice(0, 12) } : null));
    if (JSON.stringify(told).length < 700_000) return told;
    return told.map((one) => one && { value: one.value, agent: one.agent, moves: one.moves?.slice(0, 3), line: one.line });
  }

  #say(text, busy = false) {
    this.note.textContent = text;
    this.note.classList.toggle("busy", busy);
    this.note.classList.remove("error");
    this.stop.hidden = !busy;
  }

  async #ask(plies) {
    const run = ++this.run;
    const game = this.game();
    const agent = this.agent;
    const missing = plies.filter((ply) => !this.replay.evaluations[ply]);
    this.#say(`${agent} is thinking…`, true);
    try {
      const { agent: ready } = await ask("ready", { game, agent, what: "evaluate" });
      for (let first = 0; first < missing.length; first += CHUNK) {
        const done = missing.length > 1 ? ` ${first} of ${missing.length}` : "";
        this.#say(ready || first ? `${agent} is thinking…${done}` : `${agent} is being compiled, which takes a while the first time…`, true);
        const found = await ask("evaluate", { game, agent, plies: missing.slice(first, first + CHUNK) });
        if (run !== this.run) return;
        found.plies.forEach((ply, number) => ply <= this.replay.last && this.replay.setEvaluation(ply, found.evaluations[number]));
        this.replay.judged();
      }
      this.#say("");
    } catch (error) {
      if (run !== this.run) return;
      this.#say(error.message);
      this.note.classList.add("error");
    }
  }
}
