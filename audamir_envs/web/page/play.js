// A game being played: people by the board, the list of moves or its notation, levels by the server.

import { ask, decide, save } from "./api.js";
import { Analysis } from "./analysis.js";
import { button, choice, html } from "./element.js";
import { Replay } from "./replay.js";
import { Setup } from "./setup.js";

const KEY = "audamir-game";
const CHUNK = 32;

export class Play {
  constructor(about, dialog) {
    this.about = about;
    this.dialog = dialog;
    this.setup = new Setup(about, (table) => this.begin(table));
    this.replay = new Replay({
      onmove: (action) => this.move(action),
      onmiss: (label) => (label === null ? this.#yourTurn() : this.#say(`Nothing can be done at ${label} now.`)),
      onstep: () => this.#offer(),
    });
    this.analysis = new Analysis(this.replay, () => this.table?.game);
    this.turn = 0; // grows with every change, so that late answers are known to be late
    this.table = null;
    this.#build();
    this.element = html("section", { "aria-label": "Play" }, this.setup.element, this.board);
    this.board.hidden = true;
  }

  #build() {
    this.say = html("p", { className: "note", role: "status", "aria-live": "polite" });
    this.seats = html("div", { className: "options" });
    this.others = html("div", { className: "options", role: "group", "aria-label": "Moves that are not on the board" });
    this.typed = html("input", { type: "text", "aria-label": "Move in the game's notation", placeholder: "move, as text", autocomplete: "off", spellcheck: false });
    const form = html("form", { className: "row", onsubmit: (event) => this.#type(event) }, html("div", { className: "grow" }, this.typed), html("button", { type: "submit" }, "Play it"));
    this.undoButton = button("Undo", () => this.undo());
    this.pauseButton = button("Pause", () => this.#pause());
    this.text = html("textarea", { readOnly: true, rows: 3, "aria-label": "Position as text" });
    const position = html("details", { ontoggle: () => this.#position() }, html("summary", {}, "Position as text"), this.text,
      button("Copy", () => { this.text.select(); navigator.clipboard?.writeText(this.text.value); }));
    this.positionBox = position;
    this.board = html("div", { className: "table" },
      html("div", { className: "left" }, this.replay.board.element, this.replay.status, this.others, this.replay.buttons, this.say),
      html("div", { className: "right" },
        this.seats,
        form,
        html("div", { className: "row" }, this.undoButton, this.pauseButton,
          (this.resignButton = button("Let a level finish…", () => this.#resign())),
          button("Restart…", () => this.#restart()), button("New game…", () => this.#leave()),
          button("Save record", () => this.#save())),
        this.replay.moves,
        this.analysis.element,
        position));
  }

  // Goes on with the game that the browser kept, if there is one.
  async resume() {
    try {
      const kept = JSON.parse(localStorage.getItem(KEY) ?? "null");
      if (kept) await this.begin(kept);
    } catch {
      localStorage.removeItem(KEY);
      this.#showSetup(true);
    }
  }

  async begin(table) {
    const turn = ++this.turn;
    this.paused = false;
    this.#say("Setting up", true);
    this.setup.start.disabled = true;
    const asked = [...Array(table.game.actions.length + 1).keys()];
    let last;
    try {
      const { rules } = await ask("ready", { game: table.game });
      if (!rules) this.setup.note.textContent = "The rules are being compiled…";
      this.setup.note.classList.toggle("busy", !rules);
      const answers = [];
      for (let first = 0; first < asked.length; first += CHUNK) {
        answers.push(await ask("frames", { game: table.game, plies: asked.slice(first, first + CHUNK), opponents: this.#opponents(table) }));
      }
      if (turn !== this.turn) return;
      last = answers.at(-1);
      this.table = table;
      this.replay.reset({ seats: this.#names(), places: last.now.places, colours: last.now.colours, chance: last.now.chance });
      for (const answer of answers) this.replay.add(answer);
    } catch (error) {
      this.setup.refuse(error.message);
      if (this.table === null) throw error;
      return;
    } finally {
      this.setup.start.disabled = false;
      this.setup.note.classList.remove("busy");
    }
    this.setup.refuse("");
    this.now = last.now;
    this.facts = last.facts;
    this.analysis.reset(this.about.games.find((game) => game.id === table.game.env).agents);
    this.#showSetup(false);
    this.#listSeats();
    this.#say("");
    this.replay.go(this.replay.last);
    this.#keep();
    this.#goOn();
  }

  #names() {
    return this.table.names;
  }

  // What a lone person faces, in seat order: some games pay by it.
  #opponents(table = this.table) {
    const people = table.players.flatMap((player, seat) => (player === "person" ? [seat] : []));
    if (people.length !== 1) return [];
    return table.players.map((_, i) => table.players[(people[0] + i) % table.players.length]).slice(1);
  }

  get frame() {
    return this.replay.frames[this.replay.last];
  }

  get mine() {
    return !this.frame.over && this.table.players[this.frame.mover] === "person";
  }

  #showSetup(shown) {
    this.setup.element.hidden = !shown;
    this.board.hidden = shown;
  }

  #listSeats() {
    const { agents } = this.about.games.find((game) => game.id === this.table.game.env);
    this.seats.replaceChildren(...this.table.names.map((name, seat) =>
      choice(name, [["person", "person"], ...agents], this.table.players[seat], (value) => {
        this.table.players[seat] = value;
        this.turn += 1;
        this.#keep();
        this.#goOn();
      })));
  }

  #keep() {
    localStorage.setItem(KEY, JSON.stringify(this.table));
  }

  #say(text, busy = false) {
    this.say.textContent = text;
    this.say.classList.toggle("busy", busy);
    this.say.classList.remove("error");
  }

  #yourTurn() {
    this.#say(`${this.table.names[this.frame.mover]}: it is your turn.`);
  }

  #fail(error) {
    this.#say(error.message);
    this.say.classList.add("error");
  }

  // What can be chosen now: nothing while an earlier position is looked at.
  #offer() {
    if (!this.table || !this.now) return;
    const here = this.replay.ply === this.replay.last && this.mine;
    const onBoard = new Set(this.now.moves.map(([action]) => action));
    this.replay.board.offer(here ? this.now.moves : []);
    this.others.replaceChildren(...(here ? this.now.actions.filter(([action]) => !onBoard.has(action)) : []).map(([action, text]) =>
      button(text, () => this.move(action), { className: "other" })));
    this.undoButton.disabled = !this.table.game.actions.length;
    this.resignButton.disabled = this.frame.over || !this.table.players.includes("person");
    this.pauseButton.hidden = this.frame.over || this.table.players.includes("person");
    this.pauseButton.textContent = this.paused ? "Go on" : "Pause";
  }

  async #goOn() {
    const turn = this.turn;
    this.#offer();
    if (this.frame.over) {
      this.#end();
      return;
    }
    if (this.mine) {
      this.#yourTurn();
      return;
    }
    if (this.paused) {
      this.#say("Paused.");
      return;
    }
    const agent = this.table.players[this.frame.mover];
    const { game } = this.table;
    this.#say(`${agent} is thinking…`, true);
    try {
      const { agent: ready } = await ask("ready", { game, agent, what: "act" });
      if (turn !== this.turn) return;
      if (!ready) this.#say(`${agent} is being compiled, which takes a while the first time…`, true);
      const { action } = await ask("act", { game, agent });
      if (turn === this.turn) await this.#advance(action);
    } catch (error) {
      if (turn === this.turn) this.#fail(error);
    }
  }

  async move(action) {
    if (this.mine && this.replay.ply === this.replay.last) await this.#advance(action).catch((error) => this.#fail(error));
  }

  async #advance(action) {
    const turn = ++this.turn;
    const game = { ...this.table.game, actions: [...this.table.game.actions, action] };
    const answer = await ask("frames", { game, plies: [game.actions.length], opponents: this.#opponents() });
    if (turn !== this.turn) return;
    this.table.game = game;
    this.now = answer.now;
    this.facts = answer.facts;
    const watched = this.replay.ply === this.replay.last;
    this.replay.add(answer);
    this.#keep();
    if (watched) this.replay.go(this.replay.last);
    this.analysis.follow();
    this.#position();
    this.#goOn();
  }

  #end() {
    const told = Object.entries(this.facts ?? {}).map(([name, values]) => `${name} ${values.join(" : ")}`);
    const best = Math.max(...this.frame.rewards);
    const winners = this.table.names.filter((_, seat) => this.frame.rewards[seat] === best);
    this.#say(`The game is over: ${winners.length === 1 ? `${winners[0]} wins` : `a draw of ${winners.join(", ")}`}. ${told.join("; ")}`);
  }

  // Takes back to the last position in which a person was to move, or one move where nobody is a person.
  async undo() {
    const { players, game } = this.table;
    let ply = game.actions.length - 1;
    const people = players.includes("person");
    while (ply > 0 && people && players[this.replay.frames[ply].mover] !== "person") ply -= 1;
    if (ply < 0) return;
    if (!people) this.paused = true;
    await this.#back(ply);
  }

  async #back(ply) {
    const turn = ++this.turn;
    const game = { ...this.table.game, actions: this.table.game.actions.slice(0, ply) };
    try {
      const now = await ask("position", { game });
      if (turn !== this.turn) return;
      this.table.game = game;
      this.now = now;
      this.facts = undefined;
      this.replay.cut(ply);
      this.replay.go(ply);
      this.#keep();
      this.#position();
      this.#goOn();
    } catch (error) {
      this.#fail(error);
    }
  }

  #pause() {
    this.paused = !this.paused;
    this.turn += 1;
    this.#goOn();
  }

  async #type(event) {
    event.preventDefault();
    try {
      const { action } = await ask("number", { game: this.table.game, text: this.typed.value });
      if (!this.now.actions.some(([legal]) => legal === action) || !this.mine) throw new Error(`${this.typed.value} is not legal now.`);
      this.typed.value = "";
      this.replay.go(this.replay.last);
      await this.move(action);
    } catch (error) {
      this.#fail(error);
    }
  }

  #ask(text, yes) {
    const buttons = html("div", { className: "row" }, button(yes, () => this.dialog.close("yes"), { className: "main" }), button("Cancel", () => this.dialog.close("")));
    return decide(this.dialog, [html("p", {}, text)], buttons);
  }

  async #restart() {
    if (this.table.game.actions.length && (await this.#ask("Restart this game from its first position? What was played is lost.", "Restart")) !== "yes") return;
    const seed = this.table.game.start === null ? Math.floor(Math.random() * 2147483647) : this.table.game.seed;
    await this.begin({ ...this.table, game: { ...this.table.game, seed, actions: [], chance: [] } });
  }

  async #leave() {
    if (this.table.game.actions.length && !this.frame.over && (await this.#ask("Leave this game for a new one? What was played is lost.", "Leave it")) !== "yes") return;
    this.turn += 1;
    localStorage.removeItem(KEY);
    this.#showSetup(true);
    this.setup.element.querySelector("input:checked").focus();
  }

  async #resign() {
    const { agents } = this.about.games.find((game) => game.id === this.table.game.env);
    let level = agents.some(([name]) => name === "strong") ? "strong" : agents[0][0];
    const pick = choice("It plays on for you:", agents, level, (value) => { level = value; });
    const buttons = html("div", { className: "row" }, button("Let it finish", () => this.dialog.close("yes"), { className: "main" }), button("Cancel", () => this.dialog.close("")));
    if ((await decide(this.dialog, [html("p", {}, "You leave the game to a level."), pick], buttons)) !== "yes") return;
    this.table.players = this.table.players.map((player) => (player === "person" ? level : player));
    this.turn += 1;
    this.#listSeats();
    this.#keep();
    this.#goOn();
  }

  async #position() {
    if (this.positionBox.open && this.now) this.text.value = this.now.text;
  }

  async #save() {
    try {
      const { text } = await ask("record", { game: this.table.game, players: this.table.players, evaluations: this.analysis.kept() });
      save(`${this.table.game.env}-${this.table.game.seed}.jsonl`, text);
      this.#say("The record was saved.");
    } catch (error) {
      this.#fail(error);
    }
  }
}
