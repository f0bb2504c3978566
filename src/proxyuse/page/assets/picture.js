/* The picture: every measured computation, association against influence. Mounts into #picture. */
"use strict";

(() => {
  const P = ProxyusePicture;
  const { element, number, count } = P;
  const SCROLLING = 300; // milliseconds after which a turn of the wheel is a new one

  const root = document.getElementById("picture");
  const source = document.getElementById("points");
  if (!root || !source) return;
  const data = P.read(source.textContent);
  const state = {
    protected: 0,
    side: data.sides.after ? "both" : "before",
    kinds: new Set(data.kinds.keys()),
    variables: new Set(),
    query: "",
    epsilon: data.epsilon,
    delta: data.delta,
    selected: null,
  };
  let kept = P.shown(data, state);
  let paint;
  let near = [];

  // Elements

  const canvas = element("div", { class: "picture-canvas" });
  const layer = P.svg("svg", { class: "picture-layer", "aria-hidden": "true" });
  const hovered = element("div", { class: "picture-hovered", hidden: true });
  const tooltip = element("div", { class: "picture-tooltip", role: "tooltip", hidden: true });
  const thresholds = P.mountThresholds(data, (name, value) => {
    state[name] = value;
    recount();
    place();
  });
  const plot = element(
    "div",
    {
      class: "picture-plot", tabindex: "0", role: "group",
      "aria-label": "Picture of all computations, association across, influence up. " +
        "Arrow keys move, plus and minus zoom, 0 shows all. Find a term lists the points.",
    },
    ...thresholds.below, canvas, layer, ...thresholds.above, hovered, tooltip,
  );
  const spreading = element("input", {
    id: "picture-spread", type: "checkbox",
    change: () => {
      P.chart.setSpread(spreading.checked);
      P.chart.extend(chart, ...extent());
      showAll();
      refresh();
    },
  });
  const zooming = element(
    "div", { class: "picture-zoom", role: "group", "aria-label": "Scale and zoom" },
    element("label", { class: "picture-spread", title: "Both axes go by the square root" },
      spreading, "Spread small values"),
    zoomButton("+", "Zoom in", () => P.chart.zoom(chart, 0.6)),
    zoomButton("−", "Zoom out", () => P.chart.zoom(chart, 1 / 0.6)),
    zoomButton("Show all", "Show all of the picture", showAll),
  );
  const details = element("aside", {
    class: "picture-details", "aria-label": "Selected computation",
  });
  const counted = element("p", { class: "picture-count", "aria-live": "polite" });
  const trying = element("p", { class: "picture-trying", hidden: true });
  const said = element("span", { class: "picture-said", "aria-live": "polite" });
  const kinds = P.kindFilter(data, state, refresh);
  const drawn = element("span", { class: "picture-drawn" });
  const under = element("div", { class: "picture-under" });
  const controls = element(
    "div", { class: "picture-controls" },
    P.protectedChoice(data, state, (which) => {
      state.protected = which;
      P.chart.extend(chart, ...extent(), names());
      refresh();
    }),
    P.mountFind(data, state, find, fire),
    P.variableFilter(data, state, refresh),
    P.sideChoice(data, state, (side) => {
      state.side = side;
      refresh();
    }),
    kinds.element,
  );
  root.classList.add("picture");
  root.replaceChildren(
    controls,
    element("div", { class: "picture-answer" }, counted, zooming),
    element("div", { class: "picture-body" }, plot, details), trying, under, said,
  );

  paint = P.chart.colors(root);
  const [across, up] = extent();
  const chart = P.chart.mount(canvas, { across, up, names: names(), paint });

  function names() {
    return {
      across: `association with ${P.brief(data.protected[state.protected], 40)}  →`,
      up: "influence on decisions  →",
    };
  }

  function extent() {
    const far = P.reach(data, state);
    return [far.across, far.up];
  }

  function zoomButton(text, label, click) {
    return element("button", { type: "button", "aria-label": label, title: label, click }, text);
  }

  function showAll() {
    P.chart.look(chart, [[0, 100], [0, 100]]);
  }

  // Drawing

  /** After a filter changed: which points are shown, drawn anew. */
  function refresh() {
    kept = P.shown(data, state);
    hover(null);
    const found = state.query.trim() ? P.matching(data, state, kept) : [];
    P.chart.draw(chart, data, state, kept, found, paint);
    under.replaceChildren(P.legend(data, state), drawn);
    drawn.textContent = P.drawnText(data, kept);
    kinds.tell();
    recount();
    P.fillDetails(details, data, state, fire);
    place();
  }

  /** What lies above and below the canvas goes where the axes say. */
  function place() {
    const scale = P.chart.scale(chart);
    const area = P.chart.area(chart);
    thresholds.place(state, scale, area);
    P.drawSelected(layer, data, state, scale, area);
  }

  function recount() {
    const counts = P.above(data, state, kept);
    const text = told(counts);
    counted.replaceChildren(text, " ", element("span", { class: "picture-limits" }, limits()));
    thresholds.tell(state, text);
    const itself = P.audited(data, state);
    trying.hidden = itself;
    if (itself) return;
    trying.replaceChildren(
      "You are trying other thresholds than the audited ones " +
        `(association at least ${number(data.epsilon)}, influence above ${number(data.delta)}). ` +
        "The audit and its witnesses stay as they are. ",
      element("button", { type: "button", class: "picture-reset", click: reset },
        "Back to the audited thresholds"),
    );
  }

  function limits() {
    return `(association at least ${number(state.epsilon)}, influence above ${number(state.delta)})`;
  }

  function told(counts) {
    if (state.side === "both") {
      return `${count(counts.before, "computation")} above both before the repair, ` +
        `${P.whole(counts.after)} after it`;
    }
    const after = state.side === "after" ? " after the repair" : "";
    const all = state.variables.size === 0 && state.kinds.size === data.kinds.length;
    const among = all ? "" : `, of the ${P.whole(kept[state.side].length)} shown`;
    return `${count(counts[state.side], "computation")} above both${after}${among}`;
  }

  function reset() {
    state.epsilon = data.epsilon;
    state.delta = data.delta;
    recount();
    place();
    thresholds.sliders.epsilon.focus({ preventScroll: true });
  }

  function find(text) {
    if (text !== state.query) {
      state.query = text;
      refresh();
    }
    return P.strongestFirst(data, state, P.matching(data, state, kept));
  }

  // Pointing and selecting

  function hover(event) {
    const scale = event && P.chart.scale(chart);
    near = event ? P.pointsNear(data, state, kept, scale, event.offsetX, event.offsetY) : [];
    hovered.hidden = tooltip.hidden = near.length === 0;
    canvas.classList.toggle("picture-pointing", near.length > 0);
    if (!near.length) return;
    const side = data.sides[near[0].side];
    const x = scale.x(side.association[state.protected][near[0].index]);
    const y = scale.y(side.influence[near[0].index]);
    const width = P.chart.diameter(side.size[near[0].index]) + 8;
    hovered.style.left = `${x - width / 2}px`;
    hovered.style.top = `${y - width / 2}px`;
    hovered.style.width = hovered.style.height = `${width}px`;
    P.fillTooltip(tooltip, data, state, near);
    P.placeTooltip(tooltip, x, y, plot);
  }

  function clicked(event) {
    const found = P.pointsNear(
      data, state, kept, P.chart.scale(chart), event.offsetX, event.offsetY,
    );
    if (!found.length) {
      fire(null);
      return;
    }
    const here = P.stacked(data, state, found);
    const now = here.findIndex((point) =>
      state.selected && point.side === state.selected.side && point.index === state.selected.index);
    fire(here[(now + 1) % here.length]);
    hover(null);
  }

  /** Tell the page which point is selected; the page may tell the same to us. */
  function fire(point) {
    if (!point) {
      select(null);
      return;
    }
    document.dispatchEvent(new CustomEvent("proxyuse:select", {
      detail: {
        protected: state.protected, id: data.sides[point.side].id[point.index], side: point.side,
      },
    }));
  }

  function select(point) {
    state.selected = point;
    P.fillDetails(details, data, state, fire);
    said.textContent = point ? `Selected: ${data.sides[point.side].term[point.index]}` : "";
    place();
  }

  document.addEventListener("proxyuse:select", ({ detail }) => {
    const wanted = detail.side ?? (data.sides.before.place.has(detail.id) ? "before" : "after");
    const index = data.sides[wanted]?.place.get(detail.id);
    if (index === undefined || data.sides[wanted].influence[index] === null) return;
    if (detail.protected !== state.protected && data.protected[detail.protected] !== undefined) {
      state.protected = Number(detail.protected);
      const choice = document.getElementById("picture-protected");
      if (choice) choice.value = String(state.protected);
      P.chart.extend(chart, ...extent(), names());
      refresh();
    }
    select({ side: wanted, index });
  });

  const zr = chart.getZr();
  zr.on("mousemove", hover);
  zr.on("globalout", () => hover(null));
  zr.on("click", clicked);
  chart.on("datazoom", () => {
    hover(null);
    place();
  });

  plot.addEventListener("keydown", (event) => {
    if (event.target !== plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      ArrowLeft: () => P.chart.pan(chart, -0.1, 0),
      ArrowRight: () => P.chart.pan(chart, 0.1, 0),
      ArrowDown: () => P.chart.pan(chart, 0, -0.1),
      ArrowUp: () => P.chart.pan(chart, 0, 0.1),
      "+": () => P.chart.zoom(chart, 0.6),
      "-": () => P.chart.zoom(chart, 1 / 0.6),
      0: showAll,
      Escape: () => select(null),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  });

  // Whoever scrolls through the page does not zoom when the picture passes under the pointer.
  let turned = -SCROLLING;
  let outside = false;
  document.addEventListener("wheel", (event) => {
    if (event.timeStamp - turned > SCROLLING) outside = !canvas.contains(event.target);
    turned = event.timeStamp;
    if (outside && canvas.contains(event.target)) event.stopPropagation();
  }, { capture: true, passive: true });

  // Sizes and colors change under way

  new ResizeObserver(() => {
    chart.resize();
    place();
  }).observe(plot);

  function recolor() {
    paint = P.chart.colors(root);
    P.chart.repaint(chart, paint);
    refresh();
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);

  // On paper the picture has the width of a page and the colors for paper, drawn at once.
  function printing(on) {
    root.classList.toggle("picture-printing", on);
    chart.resize();
    recolor();
    chart.getZr().flush();
  }
  addEventListener("beforeprint", () => printing(true));
  addEventListener("afterprint", () => printing(false));
  matchMedia("print").addEventListener("change", ({ matches }) => printing(matches));
  new MutationObserver(recolor).observe(document.documentElement, {
    attributes: true, attributeFilter: ["class", "style", "data-theme"],
  });

  refresh();
  root.dataset.drawn = String(Object.values(kept).reduce((sum, some) => sum + some.length, 0));
  performance.mark("proxyuse:picture");
})();
