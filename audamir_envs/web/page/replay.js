// A game to step through: board, buttons and arrow keys, list of moves, graph of values, what a level thinks.

import { Board } from "./board.js";
import { chart } from "./chart.js";
import { button, html, percent } from "./element.js";

const LOSSES = [[0.4, "??"], [0.2, "?"], [0.1, "?!"]]; // of the mover's value, and what marks it
const MOST_MARKED = 8;

// A value of -1..1 as a share of the win for two seats, as it is for more.
function told(value, seats) {
  return seats === 2 ? `${percent((value + 1) / 2)} %` : value.toFixed(2);
}

export class Replay {
  // onmove(action), onmiss(text): see Board; onstep(ply): another position is looked at.
  constructor({ onmove, onmiss, onstep = () => {} } = {}) {
    this.onstep = onstep;
    this.board = new Board({ onmove, onmiss });
    this.show = { policy: true, line: true, ownership: false };
    this.status = html("p", { className: "status", role: "status" });
    this.note = html("p", { className: "note" });
    const step = (text, label, to) => button(text, () => this.go(to()), { "aria-label": label, title: label });
    this.buttons = html("div", { className: "steps", role: "toolbar", "aria-label": "Step through the game" },
      step("|‹", "First position (Home)", () => 0),
      step("‹", "One back (left arrow)", () => this.ply - 1),
      step("›", "One on (right arrow)", () => this.ply + 1),
      step("›|", "Last position (End)", () => this.last),
      (this.blunderButton = step("Next blunder", "Next move that loses much (b)", () => this.#nextBlunder())));
    this.moves = html("ol", { className: "moves", "aria-label": "Moves" });
    this.graph = html("div", { className: "graph" });
    this.thought = html("div", { className: "thought" });
    this.reset();
    document.addEventListener("keydown", (event) => this.#key(event));
  }

  // seats: names; places: see Board; chance: whether dice, say, decide too.
  reset({ seats = [], places = [], colours = [], chance = false } = {}) {
    Object.assign(this, { seats, colours, chance, frames: [], evaluations: [], ply: 0, blunders: new Map() });
    this.board.setPlaces(places);
    this.board.offer([]);
    this.moves.replaceChildren();
    this.graph.replaceChildren();
    this.thought.replaceChildren();
    this.blunderButton.hidden = true;
    this.drawn = null;
  }

  get last() {
    return this.frames.length - 1;
  }

  // Frames as the server sends them: texts of shapes, and frames that name them by number.
  add({ shapes, frames }) {
    for (const frame of frames) this.frames[frame.ply] = { ...frame, shapes: frame.shapes.map((number) => shapes[number]) };
    this.#listMoves();
  }

  // Forgets what comes after a ply.
  cut(ply) {
    this.frames.length = ply + 1;
    this.evaluations.length = Math.min(this.evaluations.length, ply + 1);
    this.#listMoves();
    this.#judge();
    if (this.ply > ply) this.go(ply);
  }

  go(ply) {
    const frame = this.frames[Math.max(0, Math.min(this.last, ply))];
    if (!frame) return;
    this.ply = frame.ply;
    this.board.draw(frame);
    this.#current();
    this.onstep(this.ply);
    this.#think();
  }

  setEvaluation(ply, evaluation) {
    this.evaluations[ply] = evaluation;
  }

  // To be called when evaluations were set.
  judged() {
    this.#judge();
    this.#think();
  }

  // Each seat's moves are marked by what they lost of its value, the worst ones alone.
  #judge() {
    const losses = [];
    for (let ply = 0; ply < this.last; ply += 1) {
      const loss = this.#lost(ply);
      if (loss >= LOSSES.at(-1)[0]) losses.push([loss, ply + 1]);
    }
    losses.sort((a, b) => b[0] - a[0]);
    this.blunders = new Map(losses.slice(0, MOST_MARKED).map(([loss, ply]) => [ply, { loss, mark: LOSSES.find(([least]) => loss >= least)[1] }]));
    this.blunderButton.hidden = !this.blunders.size;
    for (const item of this.moves.children) this.#mark(item);
    this.#drawGraph();
  }

  // What the move of a position lost of its mover's value: by the value after it; where chance decides too, which is
  // nobody's fault, by that of the best move. 0 where nothing is known.
  #lost(ply) {
    const [before, after] = [this.evaluations[ply], this.evaluations[ply + 1]];
    const mover = this.frames[ply]?.mover;
    if (this.chance) {
      const known = (before?.moves ?? []).filter((move) => move[6] !== null);
      const played = known.find(([text]) => text === this.frames[ply + 1]?.last);
      return played ? Math.max(...known.map((move) => move[6])) - played[6] : 0;
    }
    const values = [before?.value?.[mover] ?? null, after?.value?.[mover] ?? null];
    return values.includes(null) ? 0 : values[0] - values[1];
  }

  #drawGraph() {
    const known = this.evaluations.filter((one) => one?.value?.some((value) => value !== null));
    if (known.length < 2) {
      this.graph.replaceChildren();
      this.drawn = null;
      return;
    }
    const two = this.seats.length === 2;
    const series = this.seats.map((name, seat) => ({
      name,
      points: Array.from(this.evaluations, (one, ply) => [ply, one?.value?.[seat] ?? null]),
    }));
    const marks = [...this.blunders].map(([ply, { mark }]) => {
      const mover = this.frames[ply - 1].mover;
      return { x: ply, y: (this.evaluations[ply] ?? this.evaluations[ply - 1]).value[mover], text: mark };
    });
    this.drawn = chart({
      title: two ? "Value of each seat (1 wins, −1 loses); click to go there" : "Expected reward of each seat; click to go there",
      series, low: -1, high: 1, height: 190, marks, at: this.ply, onpick: (ply) => this.go(ply),
    });
    this.graph.replaceChildren(this.drawn.figure);
  }

  #listMoves() {
    while (this.moves.children.length > this.last) this.moves.lastChild.remove();
    for (let ply = this.moves.children.length + 1; ply <= this.last; ply += 1) {
      if (!this.frames[ply]) break;
      const item = html("li", {}, button(this.frames[ply].last, () => this.go(ply)));
      item.dataset.ply = ply;
      this.moves.append(item);
    }
    for (const item of this.moves.children) this.#mark(item);
  }

  #mark(item) {
    const ply = Number(item.dataset.ply);
    const found = this.blunders.get(ply);
    const before = this.frames[ply - 1];
    const seat = before ? `seat ${before.mover}: ` : "";
    item.firstChild.textContent = this.frames[ply].last + (found ? ` ${found.mark}` : "");
    item.firstChild.title = `${seat}${this.frames[ply].last}${found ? `, loses ${found.loss.toFixed(2)} of its value` : ""}`;
    item.firstChild.classList.toggle("blunder", Boolean(found));
    item.dataset.seat = before ? before.mover : "";
  }

  #current() {
    for (const item of this.moves.children) {
      const here = Number(item.dataset.ply) === this.ply;
      if (here) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
      if (here) this.moves.scrollTop = item.offsetTop - this.moves.offsetTop - this.moves.clientHeight / 2;
    }
    const frame = this.frames[this.ply];
    const mark = this.blunders.get(this.ply);
    const last = frame.last === null ? "Start" : `Ply ${this.ply}: ${frame.last}${mark ? ` ${mark.mark}` : ""}`;
    this.status.textContent = `${last}. ${frame.title}`;
    this.drawn?.move(this.ply);
    const [first, back, on, end] = this.buttons.children;
    first.disabled = back.disabled = this.ply === 0;
    on.disabled = end.disabled = this.ply >= this.last;
  }

  #think() {
    const evaluation = this.evaluations[this.ply];
    this.board.think(evaluation, { ...this.show, colours: this.colours });
    this.thought.replaceChildren();
    if (!evaluation) return;
    const values = this.seats.map((name, seat) =>
      html("span", {}, `${name}: ${evaluation.value[seat] === null ? "unknown" : told(evaluation.value[seat], this.seats.length)}`));
    this.thought.append(html("p", { className: "values" }, values));
    if (evaluation.score) {
      this.thought.append(html("p", { className: "values" }, this.seats.map((name, seat) => html("span", {}, `lead of ${name}: ${evaluation.score[seat]}`))));
    }
    const moves = (evaluation.moves ?? []).slice(0, 6);
    if (!moves.length) return;
    const columns = [["move", 0], ["policy %", 4], ["visits", 5], ["value", 6]].filter(([, at]) => moves.some((move) => move[at] !== null));
    const cell = (move, at) => move[at] === null ? "" : at === 4 ? percent(move[4]) : at === 6 ? move[6].toFixed(2) : `${move[at]}`;
    this.thought.append(html("table", {},
      html("caption", {}, "Best moves"),
      html("thead", {}, html("tr", {}, columns.map(([name]) => html("th", { scope: "col" }, name)))),
      html("tbody", {}, moves.map((move) => html("tr", {}, columns.map(([, at]) => html("td", {}, cell(move, at))))))));
    if (evaluation.line?.length > 1) {
      this.thought.append(html("p", { className: "line" }, html("b", {}, "Expected: "), evaluation.line.map(([text]) => text).join(" ")));
    }
  }

  #nextBlunder() {
    const plies = [...this.blunders.keys()].sort((a, b) => a - b);
    return plies.find((ply) => ply > this.ply) ?? plies[0] ?? this.ply;
  }

  #key(event) {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || !this.buttons.isConnected || this.buttons.closest("[hidden]")) return;
    if (event.target.closest?.("input, select, textarea, dialog")) return;
    const keys = { ArrowLeft: () => this.ply - 1, ArrowRight: () => this.ply + 1, Home: () => 0, End: () => this.last, b: () => this.#nextBlunder() };
    if (!(event.key in keys) || this.last < 0) return;
    event.preventDefault();
    this.go(keys[event.key]());
  }

  // Which parts of what is thought are drawn on the board.
  switches() {
    const one = (name, text) => {
      const box = html("input", { type: "checkbox", checked: this.show[name], onchange: () => {
        this.show[name] = box.checked;
        this.#think();
      } });
      return html("label", { className: "switch" }, box, text);
    };
    return html("div", { className: "switches" }, one("policy", "policy"), one("line", "best line"), one("ownership", "ownership"));
  }
}
