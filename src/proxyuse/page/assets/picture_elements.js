/* Small words for making elements. All text becomes text nodes, so names from data stay text. */
"use strict";

(() => {
  const SVG = "http://www.w3.org/2000/svg";

  /** An element; attributes whose value is a function are listeners, null ones are left out. */
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

  /** A number as it is read: at most four decimals, no zeros at the end. */
  function number(value) {
    return value === null ? "not measured" : String(Math.round(value * 1e4) / 1e4);
  }

  function whole(value) {
    return value.toLocaleString("en");
  }

  function count(value, one, many = `${one}s`) {
    return `${whole(value)} ${value === 1 ? one : many}`;
  }

  function percent(share) {
    const value = Math.round(share * 1000) / 10;
    return `${value} %`;
  }

  function brief(text, most) {
    const letters = Array.from(text);
    return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
  }

  Object.assign(ProxyusePicture, { element, svg, number, whole, count, percent, brief });
})();
