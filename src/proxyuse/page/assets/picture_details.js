/* The selected computation in words, and the way to its kin by keyboard. */
"use strict";

(() => {
  const { element, number, count, percent, brief, told, rows } = ProxyusePicture;
  const PARTS = 12; // shown before "and more"

  /** Fill the panel for the selected point; `select(point)` is called for its kin. */
  function fillDetails(panel, data, state, select) {
    panel.replaceChildren();
    if (!state.selected) {
      panel.append(element("p", { class: "picture-hint" },
        "Select a point, or find a term, to see its figures, what it is part of and its parts."));
      return;
    }
    const point = told(data, state, state.selected);
    const { around, inside } = ProxyusePicture.relatives(data, state.selected);
    const side = state.selected.side;
    const kin = (index) => ({ side, index });
    const parts = ProxyusePicture.strongestFirst(data, state, inside.map(kin));
    panel.append(
      element(
        "div", { class: "picture-details-head" },
        element("strong", {}, standing(point, side)),
        element("button", {
          type: "button", class: "picture-close", "aria-label": "Select nothing",
          click: () => select(null),
        }, "×"),
      ),
      element("div", { class: "picture-term" }, point.term),
      rows([
        ...figures(point, "association", `association with ${data.protected[state.protected]}`),
        ...figures(point, "influence", "influence on decisions"),
        ["reached by", `${percent(point.reach)} of rows`],
        ["size", count(point.size, "node")],
        ["occurrences", count(point.occurrences, "place")],
        ["reads", brief(point.variables.join(", ") || "nothing", 120)],
      ]),
      ...links("Is part of", around.map(kin), data, select),
      ...links("Its parts", parts, data, select),
      ...read(state, point, side),
    );
  }

  function standing(point, side) {
    const what = point.explicit
      ? "The protected attribute itself"
      : point.witness ? "Witness" : point.kind[0].toUpperCase() + point.kind.slice(1);
    return side === "after" ? `${what}, after the repair` : what;
  }

  /** A measure, and its confidence bounds if there are. */
  function figures(point, name, title) {
    const bounds = point.bounds[name];
    const found = [[brief(title, 60), number(point[name])]];
    if (bounds) found.push(["its bounds", `${number(bounds[0])} to ${number(bounds[1])}`]);
    return found;
  }

  function links(title, points, data, select) {
    if (!points.length) return [];
    const some = points.slice(0, PARTS);
    const left = points.length - some.length;
    return [
      element("div", { class: "picture-kin-title" }, title),
      element(
        "ul", { class: "picture-kin" },
        ...some.map((point) => element("li", {}, element("button", {
          type: "button", click: () => select(point),
        }, brief(data.sides[point.side].term[point.index], 70)))),
        left ? element("li", {}, `and ${ProxyusePicture.whole(left)} more`) : null,
      ),
    ];
  }

  /** The way to what the page says of a witness, if it does. */
  function read(state, point, side) {
    const target = `witness-${state.protected}-${point.id}`;
    if (side === "after" || !document.getElementById(target)) return [];
    return [element("a", { class: "picture-read", href: `#${target}` }, "Read about this witness")];
  }

  Object.assign(ProxyusePicture, { fillDetails });
})();
