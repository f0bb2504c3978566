/* The controls above the chart: protected attribute, variables, kinds, before and after. */
"use strict";

(() => {
  const { element, whole, count, shorten } = ProxyusePicture;

  /** The protected attribute in view; null if there is only one. */
  function protectedChoice(data, state, changed) {
    if (data.protected.length < 2) return null;
    const choice = element(
      "select", { id: "picture-protected", change: () => changed(Number(choice.value)) },
      ...data.protected.map((name, index) =>
        element("option", { value: index, selected: index === state.protected }, shorten(name, 60))),
    );
    return element(
      "div", { class: "picture-control" },
      element("label", { for: "picture-protected" }, "Protected attribute"), choice,
    );
  }

  /** A filter by variables, with a search field; no selection means all. */
  function variableFilter(data, state, changed) {
    const title = element("summary", {});
    const boxes = data.variables.map((name, index) => {
      const box = element("input", {
        type: "checkbox", value: index,
        change: () => {
          state.variables[box.checked ? "add" : "delete"](index);
          update();
          changed();
        },
      });
      return element("label", {}, box, element("span", {}, shorten(name, 80)));
    });
    const search = element("input", {
      type: "search", placeholder: "Search variables", "aria-label": "Search variables",
      input: () => {
        const text = search.value.trim().toLowerCase();
        boxes.forEach((box, index) => {
          box.hidden = !data.variables[index].toLowerCase().includes(text);
        });
      },
    });
    const clear = element("button", {
      type: "button", class: "picture-clear",
      click: () => {
        state.variables.clear();
        for (const box of boxes) box.firstChild.checked = false;
        update();
        changed();
      },
    }, "All variables");
    function update() {
      const chosen = [...state.variables].map((index) => data.variables[index]);
      title.textContent = chosen.length === 0 ? `All ${whole(data.variables.length)}`
        : chosen.length === 1 ? shorten(chosen[0], 24) : `${whole(chosen.length)} selected`;
      clear.disabled = chosen.length === 0;
    }
    update();
    const menu = element(
      "details", { class: "picture-menu", id: "picture-variables" }, title,
      element(
        "div", { class: "picture-menu-body" }, search,
        element("div", { class: "picture-menu-list", role: "group", "aria-label": "Variables" },
          ...boxes),
        clear,
      ),
    );
    closing(menu);
    return element(
      "div", { class: "picture-control" },
      element("span", { class: "picture-label" }, "Variables read"), menu,
    );
  }

  /** Close a menu on Escape and on a click elsewhere. */
  function closing(menu) {
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.firstChild.focus();
      event.preventDefault();
    });
    document.addEventListener("pointerdown", (event) => {
      if (menu.open && !menu.contains(event.target)) menu.open = false;
    });
  }

  /** A filter by kind of computation, with counts. Kinds without computations are omitted. */
  function kindFilter(data, state, changed) {
    const numbers = data.kinds.map(() => element("span", { class: "picture-chip-count" }));
    const offered = data.kinds.map((name, kind) => {
      if (!Object.values(data.sides).some((side) => kindCounts(data, side)[kind])) return null;
      const box = element("input", {
        type: "checkbox", name: "picture-kind", value: kind, checked: true,
        change: () => {
          state.kinds[box.checked ? "add" : "delete"](kind);
          changed();
        },
      });
      return element("label", { class: "picture-chip" }, box,
        element("span", {}, name), numbers[kind]);
    });
    const made = element(
      "fieldset", { class: "picture-control picture-kinds" },
      element("legend", {}, "Kinds"), ...offered,
    );
    const update = () => {
      const counts = data.kinds.map(() => 0);
      for (const [name, side] of Object.entries(data.sides)) {
        if (state.side !== "both" && state.side !== name) continue;
        kindCounts(data, side).forEach((n, kind) => { counts[kind] += n; });
      }
      numbers.forEach((chip, kind) => { chip.textContent = whole(counts[kind]); });
    };
    return { element: made, update };
  }

  /** How many computations of each kind a side has, as points and in cells. */
  function kindCounts(data, side) {
    const counts = data.kinds.map(() => 0);
    for (const kind of side.kind) counts[kind]++;
    for (const [, , kind, n] of side.cells?.counts[0] ?? []) counts[kind] += n;
    return counts;
  }

  /** Before the repair, after it, or both. */
  function sideChoice(data, state, changed) {
    if (!data.sides.after) return null;
    const names = { before: "Before", after: "After", both: "Both" };
    return element(
      "fieldset", { class: "picture-control picture-sides" },
      element("legend", {}, "Repair"),
      ...Object.entries(names).map(([value, name]) => element(
        "label", { class: "picture-chip" },
        element("input", {
          type: "radio", name: "picture-side", value, checked: value === state.side,
          change: () => changed(value),
        }),
        element("span", {}, name),
      )),
    );
  }

  /** The meaning of colors, shapes and sizes. */
  function legend(data, state) {
    const mark = (kind, path, text) => element(
      "li", {}, ProxyusePicture.svg(
        "svg", { viewBox: "-8 -8 16 16", width: 14, height: 14, "aria-hidden": "true",
          class: `picture-mark picture-mark-${kind}` },
        ProxyusePicture.svg("path", { d: path }),
      ), text,
    );
    const circle = "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0";
    const explicit = Object.values(data.sides).some((side) =>
      side.explicit?.[state.protected].includes(1));
    const after = state.side !== "before";
    const curve = Object.values(data.sides).some((side) => side.curve?.[state.protected]?.length);
    return element(
      "ul", { class: "picture-legend", "aria-label": "Legend" },
      state.side === "after" ? null : mark("point", circle, "computation"),
      state.side === "after" ? null : mark("witness", "M0 -8L8 0L0 8L-8 0z", "witness"),
      explicit ? mark("explicit", "M-6 -6H6V6H-6z", "the protected attribute itself") : null,
      curve ? mark("witness", "M-8 4L0 -2L8 -5", "all above an association, changed together") : null,
      after ? mark("after", circle, "after the repair") : null,
      state.side === "both" ? mark("moved", "M-8 0H8", "moved by the repair") : null,
      mark("size", "M-7 3a3 3 0 1 0 6 0a3 3 0 1 0 -6 0M-1 1a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0",
        "larger marker: more nodes"),
      Object.values(data.sides).some((side) => side.cells)
        ? mark("cell", "M-7 -7H7V7H-7z", "cell with many computations") : null,
      mark("region", "M-7 -7H7V7H-7z", "above both thresholds"),
    );
  }

  /** How many points and cells are drawn, and which computations are not. */
  function drawnText(data, state, visible, cells) {
    const drawn = Object.values(visible).reduce((sum, some) => sum + some.length, 0);
    const { influence, cells: grid } = data.sides.before;
    const lacking = influence.filter((value) => value === null).length + (grid?.unmeasured ?? 0);
    const together = ProxyusePicture.chart.isDense() ? ", overlapping ones as one marker" : "";
    const inCells = ProxyusePicture.inCells(cells);
    const parts = [`${count(drawn, "point")} drawn${together}`];
    if (inCells) parts.push(`${count(inCells, "computation")} in cells`);
    if (state.variables.size && Object.values(data.sides).some((side) => side.cells)) {
      parts.push("cells are hidden while you filter by variable");
    }
    if (lacking) parts.push(`${whole(lacking)} without a measured influence are not drawn`);
    return parts.join("; ");
  }

  /** The width of a cell. */
  function stepOf(data) {
    return Math.max(...Object.values(data.sides).map((side) => side.cells?.step ?? 0));
  }

  Object.assign(ProxyusePicture, {
    protectedChoice, variableFilter, kindFilter, sideChoice, legend, drawnText, stepOf,
  });
})();
