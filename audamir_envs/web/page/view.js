// One game in a document of its own: the data stands beside it.

import { html } from "./element.js";
import { Replay } from "./replay.js";

const data = JSON.parse(document.getElementById("data").textContent);
const replay = new Replay();
replay.reset(data);
replay.add(data);
data.evaluations.forEach((evaluation, ply) => evaluation && replay.setEvaluation(ply, evaluation));
document.querySelector("main").append(
  html("div", { className: "table" },
    html("div", { className: "left" }, replay.board.element, replay.status, replay.buttons),
    html("div", { className: "right" },
      html("ul", { className: "players" }, data.seats.map((name, seat) => html("li", {}, `${name}: ${data.players[seat]}`))),
      html("p", { className: "note" }, data.about),
      replay.moves,
      data.evaluations.some(Boolean) ? replay.switches() : null,
      replay.graph,
      replay.thought)));
replay.judged();
replay.go(0);
