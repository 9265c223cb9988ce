// Files of games: a list, and the game that was opened.

import { ask } from "./api.js";
import { Analysis } from "./analysis.js";
import { button, choice, html } from "./element.js";
import { Replay } from "./replay.js";

const CHUNK = 32;
const ROWS = 200; // of the list, at a time

// A record's games by the lines of its file; the server checks the two lines of the one that is opened.
function parse(text) {
  const games = [];
  let header = null;
  for (const line of text.split("\n")) {
    if (!line.trim()) continue;
    let fields;
    try {
      fields = JSON.parse(line);
    } catch {
      continue;
    }
    if (fields?.format !== undefined) header = { line, fields };
    else if (header && Array.isArray(fields?.seats)) {
      games.push({
        lines: { header: header.line, game: line },
        number: fields.game,
        env: header.fields.env,
        players: fields.seats.map((agent) => header.fields.agents?.[agent]?.agent ?? "?"),
        plies: fields.plies,
        shares: fields.shares ?? [],
        cut: fields.cut,
        analysed: Boolean(fields.analysis),
      });
    }
  }
  return games;
}

export class Records {
  // onplay(table): goes on with a game from a position.
  constructor(about, onplay) {
    this.about = about;
    this.onplay = onplay;
    this.note = html("p", { className: "note", role: "status" }, "A record is what --record and “Save record” write.");
    this.file = html("input", { type: "file", accept: ".jsonl,.json,.txt", onchange: () => this.#readFile() });
    this.list = html("div", { className: "games", tabIndex: 0, role: "region", "aria-label": "Games of the record" });
    this.replay = new Replay();
    this.analysis = new Analysis(this.replay, () => this.game);
    this.about1 = html("p", { className: "note" });
    this.players = html("ul", { className: "players" });
    const given = about.records.length
      ? [choice("Record", [["", "choose"], ...about.records.map((name, number) => [String(number), name])], "", (number) => this.#choose(number))]
      : [];
    this.table = html("div", { className: "table", hidden: true },
      html("div", { className: "left" }, this.replay.board.element, this.replay.status, this.replay.buttons),
      html("div", { className: "right" }, this.players, this.about1,
        html("div", { className: "row" }, button("Play on from here", () => this.#play())),
        this.replay.moves, this.analysis.element));
    this.element = html("section", { "aria-label": "Records" },
      html("div", { className: "row" }, given, html("label", { className: "choice" }, html("span", {}, "Open a file"), this.file)),
      this.note, this.list, this.table);
  }

  async shown(shown) {
    if (shown && this.about.records.length === 1 && !this.games) {
      this.element.querySelector("select").value = "0";
      await this.#choose("0");
    }
  }

  // Opens the last self-play game of a training run. game: its summary.
  async look(run, name, game) {
    await this.#try(() => this.#show([{ ...game, question: { run } }], `The last self-play game of ${name}.`));
  }

  async #choose(number) {
    if (number === "") return;
    await this.#try(async () => {
      const found = await ask("recorded", { record: Number(number) });
      const games = found.games.map((game, place) => ({ ...game, question: { record: Number(number), place } }));
      const more = found.more ? `; only the first ${games.length} games are listed` : "";
      await this.#show(games, `${games.length} games${more}${found.faults ? `; ${found.faults} lines cannot be used` : ""}.`);
    });
  }

  async #readFile() {
    await this.#try(async () => {
      const [file] = this.file.files;
      const games = parse(await file.text());
      if (!games.length) throw new Error(`${file.name} holds no recorded game.`);
      await this.#show(games.map((game) => ({ ...game, question: game.lines })), `${file.name}: ${games.length} games.`);
    });
  }

  async #show(games, note) {
    this.games = games;
    this.note.textContent = note;
    this.#list(0);
    await this.#open(0);
  }

  #list(first) {
    const rows = this.games.slice(first, first + ROWS).map((game, i) => {
      const seats = game.players.map((name, seat) => `${name} ${+(+game.shares[seat]).toFixed(2)}`).join(" – ");
      return html("tr", { "data-place": first + i },
        html("td", {}, button(`Game ${game.number}`, () => this.#open(first + i))),
        html("td", {}, seats), html("td", {}, `${game.plies}`), html("td", {}, game.cut ? "cut" : ""), html("td", {}, game.analysed ? "analysed" : ""));
    });
    const pages = this.games.length > ROWS ? html("div", { className: "row" },
      button("Earlier games", () => this.#list(first - ROWS), { disabled: first === 0 }),
      button("Later games", () => this.#list(first + ROWS), { disabled: first + ROWS >= this.games.length })) : null;
    this.list.replaceChildren(...(pages ? [pages] : []), html("table", {},
      html("thead", {}, html("tr", {}, ["game", "seats and shares of the win", "plies", "", ""].map((name) => html("th", { scope: "col" }, name)))),
      html("tbody", {}, rows)));
  }

  async #open(place) {
    await this.#try(async () => {
      const run = (this.run = {});
      this.note.classList.add("busy");
      const found = await ask("opened", this.games[place].question);
      const last = found.game.actions.length;
      const answer = await ask("frames", { game: found.game, plies: [...Array(Math.min(CHUNK, last + 1)).keys()] });
      if (run !== this.run) return;
      this.game = found.game;
      this.found = found;
      for (const row of this.list.querySelectorAll("tr")) row.removeAttribute("aria-current");
      this.list.querySelector(`tr[data-place="${place}"]`)?.setAttribute("aria-current", "true");
      this.replay.reset({ seats: found.seats, places: answer.now.places, colours: answer.now.colours, chance: answer.now.chance });
      this.analysis.reset(this.about.games.find((game) => game.id === found.game.env).agents);
      this.replay.add(answer);
      found.evaluations.forEach((evaluation, ply) => evaluation && this.replay.setEvaluation(ply, evaluation));
      this.players.replaceChildren(...found.seats.map((name, seat) => html("li", {}, `${name}: ${found.players[seat]}, ${+(+found.shares[seat]).toFixed(2)} of the win`)));
      this.about1.textContent = `${found.env}, game ${found.number}, ${last} plies${found.cut ? ", cut and settled on points" : ""}${found.opening ? `, an opening of ${found.opening}` : ""}.`;
      this.table.hidden = false;
      this.replay.judged();
      this.replay.go(0);
      this.note.classList.remove("busy");
      this.#rest(run, last);
    });
    this.note.classList.remove("busy");
  }

  // The later pictures, so that stepping asks nobody.
  async #rest(run, last) {
    for (let first = CHUNK; first <= last && run === this.run; first += CHUNK) {
      const plies = [...Array(Math.min(CHUNK, last + 1 - first)).keys()].map((i) => first + i);
      const answer = await ask("frames", { game: this.game, plies });
      if (run === this.run) {
        this.replay.add(answer);
        this.replay.judged();
        if (this.replay.ply === first - 1) this.replay.go(first - 1);
      }
    }
    if (run === this.run) this.table.dataset.complete = "yes";
  }

  #play() {
    const { game, found, replay } = this;
    const until = { ...game, seed: Math.floor(Math.random() * 2147483647), actions: game.actions.slice(0, replay.ply), chance: game.chance.slice(0, replay.ply) };
    const { agents } = this.about.games.find(({ id }) => id === game.env);
    const mover = replay.frames[replay.ply].mover;
    const level = agents.some(([name]) => name === "normal") ? "normal" : agents[0][0];
    const players = found.seats.map((_, seat) => (seat === mover ? "person" : agents.some(([name]) => name === found.players[seat]) ? found.players[seat] : level));
    this.onplay({ game: until, players, names: found.seats });
  }

  async #try(work) {
    this.note.classList.remove("error");
    try {
      await work();
    } catch (error) {
      this.note.textContent = error.message;
      this.note.classList.add("error");
    }
  }
}
