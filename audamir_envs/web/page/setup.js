// A new game: which one, its options, who sits where.

import { ask } from "./api.js";
import { button, choice, html } from "./element.js";

const FEW = 12; // whole numbers are offered as buttons up to so many

function radios(group, choices, value, onpick) {
  return choices.map(([key, text]) =>
    html("label", { className: "pick-one" },
      html("input", { type: "radio", name: group, value: String(key), checked: key === value, onchange: () => onpick(key) }),
      html("span", {}, text)));
}

function word(value) {
  return { null: "automatic", true: "yes", false: "no" }[value] ?? String(value);
}

export class Setup {
  // about: the server's answer; onstart({game, players}).
  constructor(about, onstart) {
    this.about = about;
    this.onstart = onstart;
    this.element = html("form", { className: "setup", onsubmit: (event) => this.#start(event) });
    this.note = html("p", { className: "note", role: "alert" });
    this.start = html("button", { type: "submit", className: "main" }, "Start");
    this.env = about.games[0].id;
    this.#choose(this.env);
  }

  get game() {
    return this.about.games.find((game) => game.id === this.env);
  }

  #choose(env) {
    this.env = env;
    this.options = {};
    this.players = null;
    this.seatBox = html("div", { className: "options" });
    this.position = html("textarea", { spellcheck: false, rows: 3 });
    this.seed = html("input", { type: "number", min: 0, max: 2147483647, step: 1, placeholder: "random" });
    this.element.replaceChildren(
      html("fieldset", {}, html("legend", {}, "Game"),
        html("div", { className: "options" }, radios("env", this.about.games.map(({ id }) => [id, id]), env, (id) => {
          this.#choose(id);
          this.element.querySelector(`[value="${id}"]`).focus();
        }))),
      html("fieldset", {}, html("legend", {}, "Seats"), this.seatBox),
      html("div", { className: "grid2" }, this.game.options.map((option) => this.#option(option))),
      html("details", {}, html("summary", {}, "Position and seed"),
        html("label", { className: "wide" }, "Position as text (none: a new game)", this.position),
        html("label", { className: "choice" }, "Seed of start and dice", this.seed)),
      this.note,
      this.start);
    this.#seats();
  }

  #set(option, value) {
    if (value === option.default) delete this.options[option.name];
    else this.options[option.name] = value;
    this.#seats();
  }

  #option(option) {
    const { name, low, high } = option;
    const values = [...option.values];
    const numbers = low === null ? 0 : high === null ? Infinity : high - low + 1;
    if (numbers && numbers <= FEW) for (let n = low; n <= high; n += 1) if (!values.includes(n)) values.push(n);
    const box = html("div", { className: "options" }, radios(name, values.map((value) => [value, word(value)]), option.default, (value) => this.#set(option, value)));
    if (numbers > FEW) {
      const own = typeof option.default === "number";
      const number = html("input", { type: "number", min: low, max: high ?? "", step: 1, value: own ? option.default : "", placeholder: `${low} to ${high ?? "…"}`, "aria-label": `${name}, a number`, oninput: () => {
        const at = box.querySelector("input[type=radio]:checked");
        if (at && number.value !== "") at.checked = false;
        this.#set(option, number.value === "" ? option.default : Number(number.value));
      } });
      box.append(number);
      box.addEventListener("change", (event) => { if (event.target.type === "radio") number.value = ""; });
    }
    return html("fieldset", {}, html("legend", {}, name), html("p", { className: "help" }, option.help), box);
  }

  async #seats() {
    const asked = (this.asked = {});
    let found;
    try {
      found = await ask("seats", { game: { env: this.env, options: this.options } });
    } catch (error) {
      if (this.asked === asked) this.#say(error.message);
      return;
    }
    if (this.asked !== asked) return;
    this.#say("");
    const before = this.players ?? [];
    const level = this.game.agents.some(([name]) => name === "normal") ? "normal" : this.game.agents[0][0];
    this.players = found.seats.map((_, seat) => before[seat] ?? (seat ? level : "person"));
    this.seatBox.replaceChildren(...found.seats.map((name, seat) =>
      choice(name, [["person", "person"], ...this.game.agents], this.players[seat], (value) => { this.players[seat] = value; })));
    this.names = found.seats;
  }

  #say(text) {
    this.note.textContent = text;
    this.note.classList.toggle("error", Boolean(text));
    this.start.disabled = Boolean(text);
  }

  #start(event) {
    event.preventDefault();
    if (!this.players) return;
    const seed = this.seed.value === "" ? Math.floor(Math.random() * 2147483647) : Number(this.seed.value);
    const start = this.position.value.trim() || null;
    const game = { env: this.env, options: { ...this.options }, seed, start, actions: [] };
    this.onstart({ game, players: [...this.players], names: this.names });
  }

  // Puts a text beside the form: why a game could not begin, say.
  refuse(text) {
    this.note.textContent = text;
    this.note.classList.add("error");
  }
}
