// Elements of HTML and SVG, made in one expression.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && !(element instanceof SVGElement) && name !== "list") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export function button(text, onclick, attributes = {}) {
  return html("button", { type: "button", onclick, ...attributes }, text);
}

// A labelled <select>; choices are [value, text].
export function choice(label, choices, value, onchange, attributes = {}) {
  const select = html(
    "select",
    { onchange: () => onchange(select.value), ...attributes },
    choices.map(([key, text]) => html("option", { value: key, selected: key === value }, text)),
  );
  return html("label", { className: "choice" }, html("span", {}, label), select);
}

export function percent(share) {
  const value = 100 * share;
  return value >= 99.95 ? "100" : value >= 9.95 ? value.toFixed(0) : value.toFixed(1);
}
