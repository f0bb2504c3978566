/* The selected computation in words, with buttons that lead to related computations. */
"use strict";

(() => {
  const { element, number, count, whole, percent, shorten, describe, rows } = ProxyusePicture;
  const PARTS = 12; // listed before "and more"

  /** Fill the panel for the selected point; `select(point)` is called for related points. */
  function fillDetails(panel, data, state, select) {
    panel.replaceChildren();
    if (!state.selected) {
      panel.append(element("p", { class: "picture-hint" },
        "Select a point, or search for a computation, to see its figures, its parts and what contains it."));
      return;
    }
    const point = describe(data, state, state.selected);
    const { around, inside } = ProxyusePicture.relatives(data, state.selected);
    const side = state.selected.side;
    const kin = (index) => ({ side, index });
    const parts = ProxyusePicture.strongestFirst(data, state, inside.map(kin));
    panel.append(
      element(
        "div", { class: "picture-details-head" },
        element("strong", {}, heading(point, side)),
        element("button", {
          type: "button", class: "picture-close", "aria-label": "Clear selection",
          click: () => select(null),
        }, "×"),
      ),
      element("div", { class: "picture-term" }, point.term),
      rows([
        ...figures(point, "association", `association with ${data.protected[state.protected]}`),
        ...figures(point, "influence", "influence on decisions"),
        ["evaluated for", `${percent(point.reach)} of rows`],
        ["size", count(point.size, "node")],
        ["occurrences", whole(point.occurrences)],
        ["reads", shorten(point.variables.join(", ") || "nothing", 120)],
      ]),
      ...links("Part of", around.map(kin), data, select),
      ...links("Parts", parts, data, select),
      ...link(state, point, side),
    );
  }

  function heading(point, side) {
    const what = point.explicit
      ? "The protected attribute itself"
      : point.witness ? "Witness" : point.kind[0].toUpperCase() + point.kind.slice(1);
    return side === "after" ? `${what}, after the repair` : what;
  }

  /** A measure, with its confidence bounds if there are any. */
  function figures(point, name, title) {
    const bounds = point.bounds[name];
    const lines = [[shorten(title, 60), number(point[name])]];
    if (bounds) lines.push(["confidence bounds", `${number(bounds[0])} to ${number(bounds[1])}`]);
    return lines;
  }

  function links(title, points, data, select) {
    if (!points.length) return [];
    const some = points.slice(0, PARTS);
    const hidden = points.length - some.length;
    return [
      element("div", { class: "picture-kin-title" }, title),
      element(
        "ul", { class: "picture-kin" },
        ...some.map((point) => element("li", {}, element("button", {
          type: "button", click: () => select(point),
        }, shorten(data.sides[point.side].term[point.index], 70)))),
        hidden ? element("li", {}, `and ${whole(hidden)} more`) : null,
      ),
    ];
  }

  /** A link to the section of a witness, if the page has one. */
  function link(state, point, side) {
    const target = `witness-${state.protected}-${point.id}`;
    if (side === "after" || !document.getElementById(target)) return [];
    return [element("a", { class: "picture-read", href: `#${target}` }, "Read about this witness")];
  }

  Object.assign(ProxyusePicture, { fillDetails });
})();
