/* Search: a text field with a list of results that the arrow keys go through. */
"use strict";

(() => {
  const { element, number, shorten, count, LISTED } = ProxyusePicture;

  /**
   * The field and its list. `search(text)` is called when the text changes and returns the points
   * to list; `choose(point)` is called when one is chosen.
   */
  function mountFind(data, state, search, choose) {
    const list = element("ul", {
      id: "picture-results", role: "listbox", class: "picture-results", hidden: true,
      "aria-label": "Search results",
    });
    const total = element("span", { class: "picture-results-count", "aria-live": "polite" });
    const field = element("input", {
      id: "picture-find", type: "search", role: "combobox", autocomplete: "off",
      spellcheck: "false", placeholder: "age, husband <= 0.5, …", "aria-expanded": "false",
      "aria-controls": "picture-results", "aria-autocomplete": "list",
    });
    const among = Object.values(data.sides).some((side) => side.cells)
      ? " among the single points" : "";
    let listed = [];
    let active = -1;

    function show() {
      listed = search(field.value);
      const some = listed.slice(0, LISTED);
      active = -1;
      const options = some.map((point, index) => option(data, state, point, index));
      if (listed.length > some.length) {
        const hidden = count(listed.length - some.length, "more", "more");
        options.push(element("li", { class: "picture-more", role: "presentation" },
          `and ${hidden}; type to narrow the list`));
      }
      list.replaceChildren(...options);
      total.textContent = field.value.trim() ? `${count(listed.length, "match", "matches")}${among}` : "";
      open(some.length > 0);
    }

    function open(wanted) {
      list.hidden = !wanted;
      field.setAttribute("aria-expanded", String(wanted));
      if (!wanted) field.removeAttribute("aria-activedescendant");
    }

    function go(to) {
      const most = Math.min(listed.length, LISTED);
      if (!most) return;
      list.children[active]?.removeAttribute("aria-selected");
      active = (to + most) % most;
      const now = list.children[active];
      now.setAttribute("aria-selected", "true");
      now.scrollIntoView({ block: "nearest" });
      field.setAttribute("aria-activedescendant", now.id);
    }

    function pick(position) {
      if (!listed[position]) return;
      open(false);
      choose(listed[position]);
    }

    field.addEventListener("input", show);
    field.addEventListener("focus", show);
    field.addEventListener("blur", () => open(false));
    field.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (list.hidden) show();
        go(event.key === "ArrowDown" ? active + 1 : active < 0 ? -1 : active - 1);
      } else if (event.key === "Enter") pick(Math.max(active, 0));
      else if (event.key === "Escape" && !list.hidden) open(false);
      else return;
      event.preventDefault();
    });
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus
    list.addEventListener("click", (event) => {
      const position = event.target.closest("[role=option]")?.dataset.position;
      if (position !== undefined) pick(Number(position));
    });
    return element(
      "div", { class: "picture-control picture-finder" },
      element("div", { class: "picture-find-head" },
        element("label", { for: "picture-find" }, "Search computations"), total),
      element("div", { class: "picture-field" }, field, list),
    );
  }

  function option(data, state, { side, index }, position) {
    const of = data.sides[side];
    const witness = of.witness[state.protected][index];
    const figures = `${number(of.association[state.protected][index])} · ${number(of.influence[index])}`;
    return element(
      "li",
      { id: `picture-results-${position}`, role: "option", "data-position": position, "data-id": of.id[index] },
      element("span", { class: "picture-option-term" }, shorten(of.term[index], 90)),
      element("span", { class: "picture-option-note" },
        `${witness ? "witness · " : ""}${side === "after" ? "after · " : ""}${figures}`),
    );
  }

  Object.assign(ProxyusePicture, { mountFind });
})();
