/* The canvas: points, axes and zoom, by ECharts. Selections and sliders lie above it. */
"use strict";

(() => {
  const MARGIN = { left: 62, right: 20, top: 20, bottom: 52 };
  const MANY = 3000; // points from which on they are drawn in batches, by steps of size
  const STEPS = [4.5, 6, 8, 11, 14];
  const MARK = 13; // a witness is never smaller
  let dense = false; // whether markers are small because there are many points
  let spread = false; // whether axes have a square root scale, which spreads small values

  /** The diameter of a marker: grows as the square root of the number of nodes, within bounds. */
  function diameter(size) {
    const wanted = Math.min(Math.max(3.8 + 1.6 * Math.sqrt(size), 5.5), 26);
    return dense ? (STEPS.find((step) => wanted * 0.5 <= step) ?? STEPS.at(-1)) : wanted;
  }

  const bent = (value) => (spread ? Math.sqrt(Math.max(value, 0)) : value);
  const unbent = (value) => (spread ? Math.sign(value) * value * value : value);

  function setSpread(wanted) {
    spread = wanted;
  }

  /** The current colors of the style sheet, light or dark. */
  function colors(root) {
    const probe = ProxyusePicture.element("span", { class: "picture-probe" });
    root.append(probe);
    const current = {};
    for (const name of ["point", "witness", "explicit", "after", "match", "grid", "text", "paper"]) {
      probe.style.color = `var(--picture-${name})`;
      current[name] = getComputedStyle(probe).color;
    }
    probe.remove();
    return current;
  }

  function mount(canvas, { across, up, names, paint }) {
    const chart = echarts.init(canvas, null, { renderer: "canvas" });
    chart.setOption({
      animation: false,
      aria: { enabled: false },
      grid: { ...MARGIN, outerBoundsMode: "none" },
      xAxis: axis(names.across, 30),
      yAxis: axis(names.up, 44),
      dataZoom: ["x", "y"].map((which) => ({
        id: which,
        type: "inside",
        [`${which}AxisIndex`]: 0,
        filterMode: "none",
        minSpan: 0.5,
        throttle: 16,
        preventDefaultMouseMove: false, // touch can scroll past the chart
      })),
      series: [],
    });
    extend(chart, across, up);
    repaint(chart, paint);
    return chart;
  }

  function axis(name, gap) {
    return {
      type: "value",
      name,
      nameLocation: "middle",
      nameGap: gap,
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { showMinLabel: false, showMaxLabel: false, hideOverlap: true },
      splitLine: { showMinLine: false, showMaxLine: false },
    };
  }

  /** Set the ends of the axes; they start a little below 0, so that markers at 0 are whole. */
  function extend(chart, across, up, names) {
    const label = (name) => (name === undefined ? {} : { name });
    chart.setOption({
      xAxis: { min: -0.018 * bent(across), max: bent(across), ...label(names?.across) },
      yAxis: { min: -0.03 * bent(up), max: bent(up), ...label(names?.up) },
    });
  }

  function repaint(chart, paint) {
    const font = getComputedStyle(chart.getDom()).fontFamily;
    const of = {
      nameTextStyle: { color: paint.text, fontFamily: font, fontSize: 13 },
      axisLabel: {
        color: paint.text,
        fontFamily: font,
        fontSize: 12,
        formatter: (value) => (value < 0 ? "" : ProxyusePicture.number(unbent(value))),
      },
      splitLine: { lineStyle: { color: paint.grid } },
    };
    chart.setOption({ xAxis: of, yAxis: of });
  }

  /** Draw all points: for each side ordinary ones, witnesses and explicit use. */
  function draw(chart, data, state, visible, matches, paint) {
    const faint = state.query.trim() ? 0.12 : null;
    dense = Math.max(...Object.values(visible).map((some) => some.length)) > MANY;
    const both = visible.before.length > 0 && (visible.after || []).length > 0;
    const series = [...movedLines(data, state, visible, paint), ...curves(data, state, visible, paint)];
    for (const [name, indices] of Object.entries(visible)) {
      const color = name === "after" ? paint.after : paint.point;
      const groups = grouped(data, state, name, indices);
      const opacity = faint ?? (both && name === "before" ? 0.35 : 0.55);
      series.push(
        ...plain(data, state, name, groups.plain, { color: color, opacity }),
        ...highlighted(data, state, name, groups, paint, {
          borderColor: paint.paper, borderWidth: 1.2, opacity: faint ?? 0.95,
        }),
      );
    }
    if (faint !== null) series.push(...matchingPoints(data, state, matches, paint));
    chart.setOption({ series }, { replaceMerge: ["series"] });
  }

  function grouped(data, state, name, indices) {
    const side = data.sides[name];
    const witness = side.witness[state.protected];
    const explicit = side.explicit?.[state.protected];
    const groups = { plain: [], witness: [], explicit: [] };
    for (const i of indices) {
      groups[explicit?.[i] ? "explicit" : witness[i] ? "witness" : "plain"].push(i);
    }
    return groups;
  }

  function coordinates(data, state, name, indices) {
    const side = data.sides[name];
    const association = side.association[state.protected];
    return indices.map((i) => [bent(association[i]), bent(side.influence[i]), side.size[i]]);
  }

  function plain(data, state, name, indices, itemStyle) {
    const base = { type: "scatter", silent: true, z: name === "after" ? 4 : 2, itemStyle };
    if (!dense) {
      const drawn = bySize(data, name, indices);
      return [{
        ...base,
        id: `${name}-points`,
        data: coordinates(data, state, name, drawn),
        symbolSize: (value) => diameter(value[2]),
        progressive: 0,
      }];
    }
    const size = data.sides[name].size;
    const steps = STEPS.map(() => []);
    for (const i of indices) steps[STEPS.indexOf(diameter(size[i]))].push(i);
    return steps.map((some, step) => ({
      ...base,
      id: `${name}-points-${step}`,
      data: coordinates(data, state, name, distinct(data, state, name, some)),
      z: base.z + 0.1 * (STEPS.length - step),
      symbolSize: STEPS[step],
      large: true,
      largeThreshold: 1,
      progressive: 0,
    }));
  }

  /** One of all points with the same coordinates. Together they fill the same area, and a browser
   *  needs seconds to outline tens of thousands of circles. */
  function distinct(data, state, name, indices) {
    const { influence, association } = data.sides[name];
    const across = association[state.protected];
    const key = (i) => Math.round(influence[i] * 1e4) * 20000 + Math.round(across[i] * 1e4);
    return [...new Map(indices.map((i) => [key(i), i])).values()];
  }

  /** Large markers first, so that small ones are drawn above them. */
  function bySize(data, name, indices) {
    const size = data.sides[name].size;
    return [...indices].sort((a, b) => size[b] - size[a]);
  }

  /** Witnesses and explicit use have their own shapes, and before the repair their own colors. */
  function highlighted(data, state, name, groups, paint, style, what = "") {
    const color = (own) => ({ color: name === "after" ? paint.after : own, ...style });
    return [
      marked(data, state, name, groups.witness, "diamond", 1.3, color(paint.witness), what),
      marked(data, state, name, groups.explicit, "rect", 1.1, color(paint.explicit), what),
    ];
  }

  function marked(data, state, name, indices, symbol, scale, itemStyle, what) {
    return {
      id: `${name}-${symbol}${what}`,
      type: "scatter",
      silent: true,
      z: name === "after" ? 7 : 6,
      symbol,
      symbolSize: (value) => Math.max(scale * diameter(value[2]), MARK),
      data: coordinates(data, state, name, bySize(data, name, indices)),
      itemStyle,
      progressive: 0,
    };
  }

  function matchingPoints(data, state, matches, paint) {
    const style = { borderColor: paint.match, borderWidth: 2, opacity: 1 };
    return Object.keys(data.sides).flatMap((name) => {
      const indices = matches.filter(({ side }) => side === name).map(({ index }) => index);
      const groups = grouped(data, state, name, indices);
      const many = groups.plain.length > MANY;
      const alike = many ? distinct(data, state, name, groups.plain) : groups.plain;
      const ordinary = {
        id: `${name}-found`,
        type: "scatter",
        silent: true,
        z: 5,
        data: coordinates(data, state, name, bySize(data, name, alike)),
        symbolSize: many ? 6 : (value) => diameter(value[2]) + 2,
        large: many,
        largeThreshold: 1,
        itemStyle: many ? { color: paint.match, opacity: 0.7 }
          : { ...style, color: name === "after" ? paint.after : paint.point, opacity: 0.85 },
        progressive: 0,
      };
      return [ordinary, ...highlighted(data, state, name, groups, paint, style, "-found")];
    });
  }

  /** For each side, the influence of all computations above each association, changed together. */
  function curves(data, state, visible, paint) {
    return Object.keys(visible).map((name) => {
      const curve = data.sides[name].curve?.[state.protected] ?? [];
      const color = name === "after" ? paint.after : paint.witness;
      return {
        id: `${name}-curve`,
        type: "line",
        silent: true,
        z: 3,
        data: curve.map(([association, influence]) => [bent(association), bent(influence)]),
        symbol: "emptyCircle",
        symbolSize: 5,
        lineStyle: { color, width: 1.5 },
        itemStyle: { color },
      };
    });
  }

  /** From each point before the repair to the same one after it. */
  function movedLines(data, state, visible, paint) {
    if (state.side !== "both") return [];
    const line = [];
    for (const [before, after] of ProxyusePicture.moved(data, visible)) {
      line.push(...coordinates(data, state, "before", [before]), ...coordinates(data, state, "after", [after]));
      line.push([null, null]);
    }
    return [{
      id: "moved",
      type: "line",
      silent: true,
      z: 1,
      data: line,
      showSymbol: false,
      connectNulls: false,
      lineStyle: { color: paint.after, width: 1, opacity: 0.5 },
    }];
  }

  /** From values to pixels of the canvas and back. */
  function scale(chart) {
    const [x0, y0] = chart.convertToPixel("grid", [0, 0]);
    const [x1, y1] = chart.convertToPixel("grid", [1, 1]);
    return {
      x: (value) => x0 + bent(value) * (x1 - x0),
      y: (value) => y0 + bent(value) * (y1 - y0),
      association: (x) => unbent((x - x0) / (x1 - x0)),
      influence: (y) => unbent((y - y0) / (y1 - y0)),
    };
  }

  /** The rectangle of the plot within its element. */
  function area(chart) {
    return {
      left: MARGIN.left,
      top: MARGIN.top,
      right: chart.getWidth() - MARGIN.right,
      bottom: chart.getHeight() - MARGIN.bottom,
    };
  }

  /** The visible range of each axis, in percent of its length. */
  function ends(chart) {
    return chart.getOption().dataZoom.map(({ start, end }) => [start, end]);
  }

  function show(chart, ranges) {
    chart.dispatchAction({
      type: "dataZoom",
      batch: ranges.map(([start, end], axis) => ({ dataZoomIndex: axis, start, end })),
    });
  }

  /** Zoom in or out around the middle. */
  function zoom(chart, factor) {
    show(chart, ends(chart).map(([start, end]) => {
      const half = Math.min(Math.max(((end - start) / 2) * factor, 0.25), 50);
      const middle = Math.min(Math.max((start + end) / 2, half), 100 - half);
      return [middle - half, middle + half];
    }));
  }

  /** Pan by shares of the visible range. */
  function pan(chart, across, up) {
    show(chart, ends(chart).map(([start, end], axis) => {
      const by = (axis ? up : across) * (end - start);
      const step = Math.min(Math.max(by, -start), 100 - end);
      return [start + step, end + step];
    }));
  }

  Object.assign(ProxyusePicture, {
    chart: { mount, extend, repaint, draw, colors, diameter, setSpread, scale, area, show, zoom, pan,
      isDense: () => dense },
  });
})();
