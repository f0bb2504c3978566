/* Find a term: a text field whose results are a list that the arrow keys go through. */
"use strict";

(() => {
  const { element, number, brief, count, LISTED } = ProxyusePicture;

  /**
   * The field and its list. `asked(text)` is called when the text changes and answers with the
   * points to list, `chosen(point)` when one is chosen.
   */
  function mountFind(data, state, asked, chosen) {
    const list = element("ul", {
      id: "picture-found", role: "listbox", class: "picture-found", hidden: true,
      "aria-label": "Computations found",
    });
    const told = element("span", { class: "picture-found-count", "aria-live": "polite" });
    const field = element("input", {
      id: "picture-find", type: "search", role: "combobox", autocomplete: "off",
      spellcheck: "false", placeholder: "age, husband <= 0.5, …", "aria-expanded": "false",
      "aria-controls": "picture-found", "aria-autocomplete": "list",
    });
    let listed = [];
    let active = -1;

    function show() {
      listed = asked(field.value);
      const some = listed.slice(0, LISTED);
      active = -1;
      const options = some.map((point, place) => option(data, state, point, place));
      if (listed.length > some.length) {
        const left = count(listed.length - some.length, "more", "more");
        options.push(element("li", { class: "picture-more", role: "presentation" },
          `and ${left}; type to narrow`));
      }
      list.replaceChildren(...options);
      told.textContent = field.value.trim() ? `${count(listed.length, "computation")} found` : "";
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

    function choose(place) {
      if (!listed[place]) return;
      open(false);
      chosen(listed[place]);
    }

    field.addEventListener("input", show);
    field.addEventListener("focus", show);
    field.addEventListener("blur", () => open(false));
    field.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        if (list.hidden) show();
        go(event.key === "ArrowDown" ? active + 1 : active < 0 ? -1 : active - 1);
      } else if (event.key === "Enter") choose(Math.max(active, 0));
      else if (event.key === "Escape" && !list.hidden) open(false);
      else return;
      event.preventDefault();
    });
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus
    list.addEventListener("click", (event) => {
      const place = event.target.closest("[role=option]")?.dataset.place;
      if (place !== undefined) choose(Number(place));
    });
    return element(
      "div", { class: "picture-control picture-finder" },
      element("div", { class: "picture-find-head" },
        element("label", { for: "picture-find" }, "Find a term"), told),
      element("div", { class: "picture-field" }, field, list),
    );
  }

  function option(data, state, { side, index }, place) {
    const of = data.sides[side];
    const witness = of.witness[state.protected][index];
    const figures = `${number(of.association[state.protected][index])} · ${number(of.influence[index])}`;
    return element(
      "li",
      { id: `picture-found-${place}`, role: "option", "data-place": place, "data-id": of.id[index] },
      element("span", { class: "picture-option-term" }, brief(of.term[index], 90)),
      element("span", { class: "picture-option-note" },
        `${witness ? "witness · " : ""}${side === "after" ? "after · " : ""}${figures}`),
    );
  }

  Object.assign(ProxyusePicture, { mountFind });
})();
