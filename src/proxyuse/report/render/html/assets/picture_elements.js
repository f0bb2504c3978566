/* Creates elements. All text becomes text nodes, so names from the data stay text. */
"use strict";

(() => {
  const SVG = "http://www.w3.org/2000/svg";

  /** An element. Attributes whose value is a function are listeners; null ones are skipped. */
  function element(tag, attributes = {}, ...children) {
    return fill(document.createElement(tag), attributes, children);
  }

  function svg(tag, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
  }

  function fill(made, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value === null || value === false) continue;
      if (typeof value === "function") made.addEventListener(name, value);
      else made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  /** A number with at most four decimals and no trailing zeros. */
  function number(value) {
    return value === null ? "not measured" : String(Math.round(value * 1e4) / 1e4);
  }

  function whole(value) {
    return value.toLocaleString("en");
  }

  function count(value, one, many = `${one}s`) {
    return `${whole(value)} ${value === 1 ? one : many}`;
  }

  /** A count that is known exactly or to lie in a range. */
  function rangeCount({ least, most }, noun) {
    const plural = noun && (most === 1 ? ` ${noun}` : ` ${noun}s`);
    const range = least === most ? whole(most) : `between ${whole(least)} and ${whole(most)}`;
    return `${range}${plural ?? ""}`;
  }

  function percent(share) {
    const value = Math.round(share * 1000) / 10;
    return `${value}%`;
  }

  function shorten(text, most) {
    const letters = Array.from(text);
    return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
  }

  Object.assign(ProxyusePicture, { element, svg, number, whole, count, rangeCount, percent, shorten });
})();
