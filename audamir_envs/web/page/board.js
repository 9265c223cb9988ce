// The board: a scene from the server with what can be chosen on it, and what a level thinks drawn over it.

import { html, percent, svg } from "./element.js";

const SEATS = ["#c8452f", "#2f6fb3", "#e0a526", "#4f9d69", "#8d6cab", "#e07b39", "#5bb0ba", "#9a8573"];

export class Board {
  // onmove(action); onmiss(label): of a place where nothing can be done, null once something is chosen.
  constructor({ onmove = () => {}, onmiss = () => {} } = {}) {
    this.onmove = onmove;
    this.onmiss = onmiss;
    this.picture = svg("svg", { class: "board", role: "group" });
    this.element = html("div", { className: "boardbox" }, this.picture);
    this.layers = {};
    for (const name of ["scene", "tint", "shade", "rings", "targets"]) {
      this.layers[name] = svg("g", { class: name });
    }
    this.picture.append(...Object.values(this.layers));
    this.places = [];
    this.moves = [];
    this.selected = null;
    this.focused = 0;
    this.keyboard = false; // whether the board is played by keys, so that it keeps the focus from move to move
    this.picture.addEventListener("keydown", (event) => this.#key(event));
    document.addEventListener("pointerdown", () => { this.keyboard = false; });
    document.addEventListener("focusin", (event) => { if (!this.picture.contains(event.target)) this.keyboard = false; });
  }

  // The picture: [width, height], a colour and SVG texts of shapes.
  draw({ size, background, shapes, title }) {
    this.picture.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
    this.picture.setAttribute("aria-label", title);
    this.element.classList.toggle("wide", size[0] > 1.6 * size[1]);
    this.picture.style.setProperty("--least", `${Math.round(0.7 * size[0])}px`); // on a phone: it can be scrolled
    const ground = `<rect width="${size[0]}" height="${size[1]}" fill="${background}"/>`;
    this.layers.scene.innerHTML = ground + shapes.join("");
  }

  // Places [label, x, y, outline], whether or not anything can be chosen.
  setPlaces(places) {
    this.places = places;
  }

  // Moves [action, path, dashed, x, y] that a person may choose; none: the board is only looked at.
  offer(moves) {
    this.moves = moves;
    this.selected = null;
    this.layers.targets.replaceChildren();
    if (moves.length) {
      const used = new Set(moves.flatMap(([, path]) => path));
      this.targets = this.places.map(([label, , , outline], number) => {
        const target = svg("polygon", {
          points: outline,
          class: used.has(number) ? "place used" : "place",
          role: "button",
          tabindex: -1,
          "aria-label": label,
          "data-place": label,
        });
        target.addEventListener("mousedown", (event) => event.preventDefault()); // keeps the focus where it was
        target.addEventListener("click", () => this.choose(number));
        return target;
      });
      if (!this.targets[this.focused]) this.focused = 0;
      this.targets[this.focused].setAttribute("tabindex", 0);
      this.layers.targets.append(...this.targets);
      if (this.keyboard) this.targets[this.focused].focus();
    }
    this.#rings();
  }

  choose(number) {
    const from = this.selected;
    const to = this.moves.filter(([, path]) =>
      path.length === 1 ? path[0] === number && from === null : path[0] === from && path[1] === number);
    this.selected = null;
    if (to.length) {
      this.onmove(to[0][0]);
      return;
    }
    if (from !== number && this.moves.some(([, path]) => path.length > 1 && path[0] === number)) {
      this.selected = number;
      this.onmiss(null);
    } else if (from === null) this.onmiss(this.places[number][0]);
    this.#rings();
  }

  #rings() {
    const layer = this.layers.rings;
    layer.replaceChildren();
    if (this.selected === null) return;
    layer.append(svg("polygon", { points: this.places[this.selected][3], class: "selected" }));
    for (const [, path, dashed] of this.moves) {
      if (path[0] !== this.selected || path.length < 2) continue;
      const [, x, y] = this.places[path[1]];
      const r = 0.62 * this.#radius(path[1]);
      layer.append(
        svg("circle", { cx: x, cy: y, r, class: "halo" }),
        svg("circle", { cx: x, cy: y, r, class: dashed ? "ring dashed" : "ring", "data-ring": this.places[path[1]][0] }),
      );
    }
  }

  // From a place's centre to the nearest corner of its outline.
  #radius(number) {
    const [, x, y, outline] = this.places[number];
    const corners = outline.split(" ").map((corner) => corner.split(",").map(Number));
    return Math.max(17, Math.min(26, ...corners.map(([a, b]) => Math.hypot(a - x, b - y))));
  }

  // Arrows go to the nearest place in their direction, Enter and space choose, Escape lets go.
  #key(event) {
    const here = this.targets?.indexOf(event.target) ?? -1;
    if (here < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    if (here !== this.focused) this.#focus(here);
    const directions = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key in directions) {
      const [dx, dy] = directions[event.key];
      const [, x, y] = this.places[this.focused];
      let best = null;
      this.places.forEach(([, u, v], number) => {
        const along = (u - x) * dx + (v - y) * dy;
        const across = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
        if (along > 1 && (best === null || along + 2 * across < best[0])) best = [along + 2 * across, number];
      });
      if (best) this.#focus(best[1]);
    } else if (event.key === "Enter" || event.key === " ") {
      this.keyboard = true;
      this.choose(this.focused);
    } else if (event.key === "Escape") {
      this.selected = null;
      this.#rings();
    } else return;
    this.keyboard = true;
    event.preventDefault();
    event.stopPropagation();
  }

  #focus(number) {
    this.targets[this.focused].setAttribute("tabindex", -1);
    this.focused = number;
    this.targets[number].setAttribute("tabindex", 0);
    this.targets[number].focus();
  }

  // What a level thinks: moves [text, path, x, y, policy, visits, value], line [text, path, x, y], ownership by place.
  think(evaluation, { policy = true, line = true, ownership = false, colours = [] } = {}) {
    const { tint, shade } = this.layers;
    tint.replaceChildren();
    shade.replaceChildren();
    if (!evaluation) return;
    if (ownership && evaluation.ownership) this.#tint(evaluation.ownership, colours);
    if (policy && evaluation.moves) this.#shades(evaluation.moves);
    if (line && evaluation.line) this.#line(evaluation.line);
  }

  // Colour by the likeliest owner, as strongly as it is sure, and the owner's seat as a number.
  #tint(ownership, colours) {
    ownership.forEach((chances, number) => {
      const place = this.places[number];
      if (!place) return;
      const seat = chances.indexOf(Math.max(...chances));
      const sure = (chances[seat] - 1 / chances.length) / (1 - 1 / chances.length);
      if (!(sure > 0.1)) return;
      const colour = colours[seat] ?? SEATS[seat % SEATS.length];
      this.layers.tint.append(
        svg("polygon", { points: place[3], fill: colour, "fill-opacity": (0.65 * sure).toFixed(2) }),
        svg("text", { x: place[1] + 11, y: place[2] - 8, class: "seatmark" }, `${seat}`),
      );
    });
  }

  #shades(moves) {
    const spots = new Map(); // several moves may lead to one place: their probabilities add up
    for (const [, path, x, y, share] of moves) {
      if (!path.length) continue;
      const spot = spots.get(`${x},${y}`) ?? { x, y, share: 0, place: this.places[path.at(-1)] };
      spot.share += share;
      spots.set(`${x},${y}`, spot);
    }
    for (const { x, y, share, place } of spots.values()) {
      if (share < 0.001) continue;
      const inside = place && Math.hypot(place[1] - x, place[2] - y) < 1;
      if (inside) {
        this.layers.shade.append(svg("polygon", { points: place[3], class: "policy", "fill-opacity": (0.75 * Math.sqrt(share)).toFixed(2) }));
      } else {
        // Below the point, where the game may have written a chance of its own.
        this.layers.shade.append(svg("circle", { cx: x, cy: y + 9, r: 4 + 6 * Math.sqrt(share), class: "policy", "fill-opacity": 0.85 }));
      }
      this.layers.shade.append(svg("text", { x, y: inside ? y + 3.5 : y + 12, class: inside ? "share" : "share small" }, percent(share)));
    }
  }

  // The first moves of the variation: an arrow for each, numbered.
  #line(line) {
    line.slice(0, 5).forEach(([text, path, x, y], number) => {
      if (!path.length) return;
      const [, u, v] = this.places[path.at(-1)];
      if (path.length > 1) {
        const [, a, b] = this.places[path[0]];
        const size = Math.hypot(u - a, v - b) || 1;
        const [dx, dy] = [(u - a) / size, (v - b) / size];
        const [tx, ty] = [u - 12 * dx, v - 12 * dy];
        const tip = `${tx},${ty} ${tx - 9 * dx - 5 * dy},${ty - 9 * dy + 5 * dx} ${tx - 9 * dx + 5 * dy},${ty - 9 * dy - 5 * dx}`;
        this.layers.shade.append(
          svg("line", { x1: a, y1: b, x2: tx - 7 * dx, y2: ty - 7 * dy, class: number ? "arrow later" : "arrow" }),
          svg("polygon", { points: tip, class: number ? "tip later" : "tip" }),
        );
      }
      const [cx, cy] = path.length > 1 && Math.hypot(u - x, v - y) > 1 ? [u + 9, v - 9] : [u - 11, v - 11];
      this.layers.shade.append(
        svg("circle", { cx, cy, r: 8, class: number ? "step later" : "step" }),
        svg("text", { x: cx, y: cy + 3.5, class: "steptext" }, `${number + 1}`, svg("title", {}, text)),
      );
    });
  }
}
