/* The chart: every measured computation, association against influence. Mounts into #picture. */
"use strict";

(() => {
  const P = ProxyusePicture;
  const { element, number, count } = P;
  const SCROLLING = 300; // milliseconds of pause after which a turn of the wheel is a new one

  const root = document.getElementById("picture");
  const source = document.getElementById("points");
  if (!root || !source) return;
  const data = P.read(source.textContent);
  const state = {
    protected: data.leading,
    side: data.sides.after ? "both" : "before",
    kinds: new Set(data.kinds.keys()),
    variables: new Set(),
    query: "",
    epsilon: data.epsilon,
    delta: data.delta,
    selected: null,
  };
  let visible = P.visiblePoints(data, state);
  let cells = P.visibleCells(data, state);
  let paint;
  let near = [];

  // Elements

  const canvas = element("div", { class: "picture-canvas" });
  const grid = element("canvas", { class: "picture-cells", "aria-hidden": "true" });
  const layer = P.svg("svg", { class: "picture-layer", "aria-hidden": "true" });
  const hovered = element("div", { class: "picture-hovered", hidden: true });
  const tooltip = element("div", { class: "picture-tooltip", role: "tooltip", hidden: true });
  const thresholds = P.mountThresholds(data, (name, value) => {
    state[name] = value;
    recount();
    align();
  });
  const plot = element(
    "div",
    {
      class: "picture-plot", tabindex: "0", role: "group",
      "aria-label": "Chart of all computations: association on the x axis, influence on the y " +
        "axis. Arrow keys pan, plus and minus zoom, 0 resets. The search box lists the points.",
    },
    ...thresholds.below, grid, canvas, layer, ...thresholds.above, hovered, tooltip,
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
    element("label", { class: "picture-spread", title: "Square root scale on both axes" },
      spreading, "Spread small values"),
    zoomButton("+", "Zoom in", () => P.chart.zoom(chart, 0.6)),
    zoomButton("−", "Zoom out", () => P.chart.zoom(chart, 1 / 0.6)),
    zoomButton("Reset", "Reset zoom", showAll),
  );
  const details = element("aside", {
    class: "picture-details", "aria-label": "Selected computation",
  });
  const counted = element("p", { class: "picture-count", "aria-live": "polite" });
  const trying = element("p", { class: "picture-trying", hidden: true });
  const announced = element("span", { class: "picture-announced", "aria-live": "polite" });
  const kinds = P.kindFilter(data, state, refresh);
  const drawn = element("span", { class: "picture-drawn" });
  const below = element("div", { class: "picture-below" });
  const controls = element(
    "div", { class: "picture-controls" },
    P.protectedChoice(data, state, (which) => {
      state.protected = which;
      P.chart.extend(chart, ...extent(), names());
      refresh();
    }),
    P.mountFind(data, state, find, announce),
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
    element("div", { class: "picture-body" }, plot, details), trying, below, announced,
  );

  paint = P.chart.colors(root);
  const [across, up] = extent();
  const chart = P.chart.mount(canvas, { across, up, names: names(), paint });

  function names() {
    return {
      across: `association with ${P.shorten(data.protected[state.protected], 40)}  →`,
      up: "influence on decisions  →",
    };
  }

  function extent() {
    const ends = P.extents(data, state);
    return [ends.across, ends.up];
  }

  function zoomButton(text, label, click) {
    return element("button", { type: "button", "aria-label": label, title: label, click }, text);
  }

  function showAll() {
    P.chart.show(chart, [[0, 100], [0, 100]]);
  }

  // Drawing

  /** Filter and draw again, after a control changed. */
  function refresh() {
    visible = P.visiblePoints(data, state);
    cells = P.visibleCells(data, state);
    hover(null);
    const matches = state.query.trim() ? P.matching(data, state, visible) : [];
    P.chart.draw(chart, data, state, visible, matches, paint);
    below.replaceChildren(P.legend(data, state), drawn);
    drawn.textContent = P.drawnText(data, state, visible, cells);
    kinds.update();
    recount();
    P.fillDetails(details, data, state, announce);
    align();
  }

  /** Align everything above and below the canvas with the axes. */
  function align() {
    const scale = P.chart.scale(chart);
    const area = P.chart.area(chart);
    P.drawCells(grid, data, state, cells, scale, area, paint);
    thresholds.align(state, scale, area);
    P.drawSelected(layer, data, state, scale, area);
  }

  function recount() {
    const counts = P.above(data, state, visible, cells);
    const text = countText(counts);
    counted.replaceChildren(text, " ", element("span", { class: "picture-limits" }, limits()));
    thresholds.update(state, text);
    const itself = P.audited(data, state);
    trying.hidden = itself;
    if (itself) return;
    trying.replaceChildren(
      "These are not the thresholds of the audit " +
        `(association at least ${number(data.epsilon)}, influence above ${number(data.delta)}). ` +
        "Moving them changes the count above, not the audit or its witnesses. ",
      P.inCells(cells) ? `Counts are exact at multiples of ${number(P.stepOf(data))}. ` : "",
      element("button", { type: "button", class: "picture-reset", click: reset },
        "Back to the audited thresholds"),
    );
  }

  function limits() {
    return `(association at least ${number(state.epsilon)}, influence above ${number(state.delta)})`;
  }

  function countText(counts) {
    if (state.side === "both") {
      return `${P.rangeCount(counts.before, "computation")} above both thresholds before the ` +
        `repair, ${P.rangeCount(counts.after)} after it`;
    }
    const after = state.side === "after" ? " after the repair" : "";
    const all = state.variables.size === 0 && state.kinds.size === data.kinds.length;
    const shown = visible[state.side].length + P.inCells(cells);
    const among = all ? "" : `, of the ${P.whole(shown)} shown`;
    return `${P.rangeCount(counts[state.side], "computation")} above both thresholds${after}${among}`;
  }

  function reset() {
    state.epsilon = data.epsilon;
    state.delta = data.delta;
    recount();
    align();
    thresholds.sliders.epsilon.focus({ preventScroll: true });
  }

  function find(text) {
    if (text !== state.query) {
      state.query = text;
      refresh();
    }
    return P.strongestFirst(data, state, P.matching(data, state, visible));
  }

  // Pointing and selecting

  function hover(event) {
    const scale = event && P.chart.scale(chart);
    near = event ? P.pointsNear(data, state, visible, scale, event.offsetX, event.offsetY) : [];
    hovered.hidden = tooltip.hidden = near.length === 0;
    canvas.classList.toggle("picture-pointing", near.length > 0);
    if (!near.length) {
      if (event) hoverCell(scale, event);
      return;
    }
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

  function hoverCell(scale, { offsetX, offsetY }) {
    const cell = P.cellAt(data, cells, scale, offsetX, offsetY);
    tooltip.hidden = cell === null;
    if (!cell) return;
    P.fillCellTooltip(tooltip, data, cell);
    P.placeTooltip(tooltip, offsetX, offsetY, plot);
  }

  function clicked(event) {
    const points = P.pointsNear(
      data, state, visible, P.chart.scale(chart), event.offsetX, event.offsetY,
    );
    if (!points.length) {
      announce(null);
      return;
    }
    const stack = P.stacked(data, state, points);
    const current = stack.findIndex((point) =>
      state.selected && point.side === state.selected.side && point.index === state.selected.index);
    announce(stack[(current + 1) % stack.length]);
    hover(null);
  }

  /** Announce the selected point to the page, which may select a point in the same way. */
  function announce(point) {
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
    P.fillDetails(details, data, state, announce);
    announced.textContent = point ? `Selected: ${data.sides[point.side].term[point.index]}` : "";
    align();
  }

  document.addEventListener("proxyuse:select", ({ detail }) => {
    const wanted = detail.side ?? (data.sides.before.indexOf.has(detail.id) ? "before" : "after");
    const index = data.sides[wanted]?.indexOf.get(detail.id);
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
    align();
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

  // Scrolling the page does not zoom when the chart passes under the pointer.
  let turned = -SCROLLING;
  let outside = false;
  document.addEventListener("wheel", (event) => {
    if (event.timeStamp - turned > SCROLLING) outside = !canvas.contains(event.target);
    turned = event.timeStamp;
    if (outside && canvas.contains(event.target)) event.stopPropagation();
  }, { capture: true, passive: true });

  // Changes of size and color

  new ResizeObserver(() => {
    chart.resize();
    align();
  }).observe(plot);

  function recolor() {
    paint = P.chart.colors(root);
    P.chart.repaint(chart, paint);
    refresh();
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);

  // In print the chart has the width of a page and light colors, drawn at once.
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
  root.dataset.drawn = String(Object.values(visible).reduce((sum, some) => sum + some.length, 0));
  performance.mark("proxyuse:picture");
})();
