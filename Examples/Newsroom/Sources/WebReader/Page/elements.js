// What every part of the page is made of.

/// Text is only ever text: it goes through `append`, which makes text nodes.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

/// An element of a picture.
export function shape(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/// The sign of what waits.
export const clock = () => shape("svg", { viewBox: "0 0 16 16", class: "clock", "aria-hidden": "true" },
  shape("circle", { cx: 8, cy: 8, r: 6.5 }), shape("path", { d: "M8 4.4 V8 L10.6 9.6" }));

export function time(date) {
  const minutes = Math.round((new Date(date) - Date.now()) / 60000);
  const format = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  const text = minutes > -60 ? format.format(minutes, "minute")
    : minutes > -1440 ? format.format(Math.round(minutes / 60), "hour") : format.format(Math.round(minutes / 1440), "day");
  return element("time", { datetime: date }, text);
}

/// Replaces children, and keeps the focus on the one of the same name; says if that is gone.
export function renew(parent, children) {
  const focus = parent.contains(document.activeElement) ? document.activeElement.dataset?.focus : null;
  parent.replaceChildren(...children.filter((child) => child != null));
  const next = focus && parent.querySelector(`[data-focus="${focus}"]`);
  next?.focus();
  return !focus || next != null;
}
