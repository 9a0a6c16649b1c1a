// Elements from plain calls: text is always text, never markup, so that no name or value can become script.

const SVG = "http://www.w3.org/2000/svg";

/** h("button", {class: "main", onclick: f, disabled: false}, "Learn", child, [more children]) */
export function h(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** The same for SVG. */
export function s(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(element, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
    else if (name === "css") for (const [key, own] of Object.entries(value)) element.style.setProperty(key, own);
    else element.setAttribute(name, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/** Put other children into an element. */
export function refill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** A number for people: three digits or so that matter. */
export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const size = Math.abs(value);
  return size !== 0 && (size < 1e-4 || size >= 1e6) ? value.toExponential(digits - 1) : String(Number(value.toPrecision(digits)));
}

export function percent(value, digits = 1) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(digits)} %`;
}

/** A probability, with more digits where it is nearly 0 or 1. */
export function chance(p) {
  return percent(p, p > 0.0005 && p < 0.9995 ? 1 : p > 5e-6 && p < 1 - 5e-6 ? 3 : 0);
}

/** A labelled field: label and control belong together for screen readers. */
export function field(label, control, hint) {
  return h("label", { class: "field" }, h("span", {}, label), control, hint ? h("small", {}, hint) : null);
}

/** A select from [value, text] pairs. */
export function choice(options, value, onchange, properties = {}) {
  const items = options.map((option) => {
    const [own, text] = Array.isArray(option) ? option : [option, option];
    return h("option", { value: own, selected: own === value }, text);
  });
  return h("select", { ...properties, onchange: (event) => onchange(event.target.value) }, items);
}

/** Wait until calls have paused for so long, then do the last one. */
export function debounced(f, milliseconds = 150) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...values), milliseconds);
  };
}

/** Calls of an asynchronous function, never two at a time; of those that come meanwhile only the last is done. */
export function latest(work) {
  let busy = false;
  let again = false;
  return async function run() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      do {
        again = false;
        await work();
      } while (again);
    } finally {
      busy = false;
    }
  };
}

/** A value for people: the bin "(18, 65]" is "18 to 65", and "(65, inf)" is "> 65". */
export function valueText(value) {
  const bin = /^\((-inf|-?[\d.e+-]+), (inf|-?[\d.e+-]+)[\])]$/.exec(value);
  if (!bin) return value;
  const [, low, high] = bin;
  if (low === "-inf") return high === "inf" ? "any number" : `≤ ${high}`;
  return high === "inf" ? `> ${low}` : `${low} to ${high}`;
}

/** "age ≤ 54", "sex = male". */
export function isText(name, value) {
  const text = valueText(String(value));
  return /^[≤>] /.test(text) ? `${name} ${text}` : `${name} = ${text}`;
}
