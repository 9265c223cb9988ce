// The page: its parts, and which of them is seen.

import { ask } from "./api.js";
import { button, html } from "./element.js";
import { Play } from "./play.js";
import { Records } from "./records.js";
import { Runs } from "./runs.js";

const main = document.querySelector("main");
const nav = document.querySelector("nav");

const about = await ask("about");
const play = new Play(about, document.querySelector("dialog"));
const records = new Records(about, async (table) => {
  await play.begin(table);
  show("Play");
});
const parts = [["Play", play], ["Records", records]];
if (about.runs.length) {
  parts.push(["Training", new Runs(about, async (env, level) => {
    const game = about.games.find(({ id }) => id === env);
    if (!game.agents.some(([text]) => text === level[0])) game.agents.push(level);
    const { seats } = await ask("seats", { game: { env } });
    const table = { env, options: {}, seed: Math.floor(Math.random() * 2147483647), start: null, actions: [] };
    await play.begin({ game: table, players: seats.map(() => level[0]), names: seats });
    show("Play");
  }, async (run, name, game) => {
    await records.look(run, name, game);
    show("Records");
  })]);
}

function show(name) {
  for (const [title, part] of parts) {
    part.element.hidden = title !== name;
    part.shown?.(title === name);
  }
  for (const tab of nav.children) {
    if (tab.textContent === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
}

nav.append(...parts.map(([title]) => button(title, () => show(title))));
main.append(...parts.map(([, part]) => part.element));
show(about.runs.length ? "Training" : about.records.length ? "Records" : "Play");
await play.resume();
document.body.dataset.ready = "yes";
