// Training runs while they train: their curves, read again every few seconds.

import { ask } from "./api.js";
import { chart, short } from "./chart.js";
import { button, choice, html } from "./element.js";

const SECONDS = 5;

export class Runs {
  // onwatch(env, level): plays the newest level against itself; level: [text, name].
  // onlook(run, name, game): opens the last self-play game; game: its summary.
  constructor(about, onwatch, onlook) {
    this.watch = button("Watch its best level play itself", () => onwatch(this.level[0], this.level.slice(1)), { hidden: true });
    this.look = button("Look at its last self-play game", () => onlook(this.chosen, about.runs[this.chosen], this.game), { hidden: true });
    this.chosen = 0;
    this.note = html("p", { className: "note", role: "status" });
    this.charts = html("div", { className: "charts" });
    this.element = html("section", { "aria-label": "Training" },
      html("div", { className: "row" }, choice("Run", about.runs.map((name, number) => [String(number), name]), "0", (number) => {
        this.chosen = Number(number);
        this.#read();
      }), this.look, this.watch),
      this.note, this.charts);
  }

  shown(shown) {
    clearInterval(this.timer);
    if (!shown) return;
    this.#read();
    this.timer = setInterval(() => this.#read(), 1000 * SECONDS);
  }

  async #read() {
    if (document.hidden) return;
    let found;
    try {
      found = await ask("run", { run: this.chosen });
    } catch (error) {
      this.note.textContent = error.message;
      return;
    }
    const { last } = found;
    this.level = found.level;
    this.watch.hidden = !found.level;
    this.game = found.game;
    this.look.hidden = !found.game;
    if (found.game) this.look.title = `${found.game.players[0]}, ${found.game.plies} plies`;
    const told = ["iteration", "positions", "positions_per_second", "seconds"].filter((name) => name in last);
    this.note.textContent = told.map((name) => `${name.replaceAll("_", " ")}: ${short(last[name])}`).join("   ");
    const opponents = Object.entries(found.evaluation);
    const figures = opponents.length ? [chart({
      title: "Score against each level, with its 95 % interval, by iteration",
      series: opponents.map(([name, rows]) => ({
        name,
        points: rows.map(([iteration, score]) => [iteration, score]),
        bands: rows.filter((row) => row[2] !== null && row[3] !== null).map(([iteration, , low, high]) => [iteration, low, high]),
      })),
      low: 0, high: 1,
    }).figure] : [];
    const dull = ["positions", "seconds"]; // they only grow
    for (const [name, points] of Object.entries(found.train)) {
      if (!dull.includes(name)) figures.push(chart({ title: name.replaceAll("_", " "), series: [{ name, points }], height: 150 }).figure);
    }
    this.charts.replaceChildren(...figures);
  }
}
