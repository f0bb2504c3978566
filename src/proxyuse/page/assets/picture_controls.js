/* The controls above the picture: attribute, variables, kinds, before and after. */
"use strict";

(() => {
  const { element, whole, count, brief } = ProxyusePicture;

  /** Which protected attribute is looked at; nothing to choose if there is one. */
  function protectedChoice(data, state, changed) {
    if (data.protected.length < 2) return null;
    const choice = element(
      "select", { id: "picture-protected", change: () => changed(Number(choice.value)) },
      ...data.protected.map((name, place) =>
        element("option", { value: place, selected: place === state.protected }, brief(name, 60))),
    );
    return element(
      "div", { class: "picture-control" },
      element("label", { for: "picture-protected" }, "Protected attribute"), choice,
    );
  }

  /** Variables to filter by, in a list that can be searched; none chosen means all. */
  function variableFilter(data, state, changed) {
    const title = element("summary", {});
    const boxes = data.variables.map((name, place) => {
      const box = element("input", {
        type: "checkbox", value: place,
        change: () => {
          state.variables[box.checked ? "add" : "delete"](place);
          tell();
          changed();
        },
      });
      return element("label", {}, box, element("span", {}, brief(name, 80)));
    });
    const search = element("input", {
      type: "search", placeholder: "Search variables", "aria-label": "Search variables",
      input: () => {
        const text = search.value.trim().toLowerCase();
        boxes.forEach((box, place) => {
          box.hidden = !data.variables[place].toLowerCase().includes(text);
        });
      },
    });
    const clear = element("button", {
      type: "button", class: "picture-clear",
      click: () => {
        state.variables.clear();
        for (const box of boxes) box.firstChild.checked = false;
        tell();
        changed();
      },
    }, "All variables");
    function tell() {
      const chosen = [...state.variables].map((place) => data.variables[place]);
      title.textContent = chosen.length === 0 ? `All ${whole(data.variables.length)}`
        : chosen.length === 1 ? brief(chosen[0], 24) : `${whole(chosen.length)} chosen`;
      clear.disabled = chosen.length === 0;
    }
    tell();
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
      element("span", { class: "picture-label" }, "Reads one of"), menu,
    );
  }

  /** Escape and a click elsewhere close a menu. */
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

  /** Kinds of computations with how many there are; a kind without any is not offered. */
  function kindFilter(data, state, changed) {
    const numbers = data.kinds.map(() => element("span", { class: "picture-chip-count" }));
    const offered = data.kinds.map((name, kind) => {
      if (!Object.values(data.sides).some((side) => side.kind.includes(kind))) return null;
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
    const tell = () => {
      const counts = data.kinds.map(() => 0);
      for (const [name, side] of Object.entries(data.sides)) {
        if (state.side === "both" || state.side === name) for (const k of side.kind) counts[k]++;
      }
      numbers.forEach((shown, kind) => { shown.textContent = whole(counts[kind]); });
    };
    return { element: made, tell };
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

  /** What colors, shapes and sizes mean. */
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
    return element(
      "ul", { class: "picture-legend", "aria-label": "Legend" },
      state.side === "after" ? null : mark("point", circle, "computation"),
      state.side === "after" ? null : mark("witness", "M0 -8L8 0L0 8L-8 0z", "witness"),
      explicit ? mark("explicit", "M-6 -6H6V6H-6z", "the protected attribute itself") : null,
      after ? mark("after", circle, "after the repair") : null,
      state.side === "both" ? mark("moved", "M-8 0H8", "moved by the repair") : null,
      mark("size", "M-7 3a3 3 0 1 0 6 0a3 3 0 1 0 -6 0M-1 1a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0",
        "larger: more nodes"),
      mark("region", "M-7 -7H7V7H-7z", "above both thresholds"),
    );
  }

  /** How many points are drawn, of how many, and which cannot be. */
  function drawnText(data, kept) {
    const drawn = Object.values(kept).reduce((sum, some) => sum + some.length, 0);
    const lacking = data.sides.before.influence.filter((value) => value === null).length;
    const together = ProxyusePicture.chart.isDense() ? ", those at one place as one marker" : "";
    const text = `${count(drawn, "point")} drawn${together}`;
    return lacking ? `${text}; ${whole(lacking)} without a measured influence are not` : text;
  }

  Object.assign(ProxyusePicture, {
    protectedChoice, variableFilter, kindFilter, sideChoice, legend, drawnText,
  });
})();
