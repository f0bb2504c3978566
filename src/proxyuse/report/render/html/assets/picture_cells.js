/* Cells: the computations far below the thresholds of a large model, counted on a grid. */
"use strict";

(() => {
  const { element, number, count } = ProxyusePicture;
  const UNITS = 10000; // measures have four decimals
  const FLAT = 6; // height in pixels of the cells below the axis, whose influence is exactly 0

  /** For each side in view, its cells that pass the filters, as [column, row, count]. */
  function visibleCells(data, state) {
    const visible = {};
    for (const [name, side] of Object.entries(data.sides)) {
      visible[name] = [];
      if (!side.cells || state.variables.size) continue; // cells do not know their variables
      if (state.side !== "both" && state.side !== name) continue;
      const sums = new Map();
      for (const [column, row, kind, n] of side.cells.counts[state.protected]) {
        if (!state.kinds.has(kind)) continue;
        const key = `${column} ${row}`;
        if (!sums.has(key)) sums.set(key, [column, row, 0]);
        sums.get(key)[2] += n;
      }
      visible[name] = [...sums.values()];
    }
    return visible;
  }

  /** The least and the largest number of computations in cells that are above both thresholds. */
  function cellsAbove(side, state, cells) {
    if (!side.cells) return [0, 0];
    const step = Math.round(side.cells.step * UNITS);
    const epsilon = Math.round(state.epsilon * UNITS);
    const delta = Math.round(state.delta * UNITS);
    let least = 0;
    let most = 0;
    for (const [column, row, n] of cells) {
      if (column * step >= epsilon && row * step >= delta) least += n;
      if ((column + 1) * step > epsilon && (row + 1) * step > delta) most += n;
    }
    return [least, most];
  }

  /** How many computations are in some cells. */
  function inCells(cells) {
    return Object.values(cells).flat().reduce((sum, [, , n]) => sum + n, 0);
  }

  /** The rectangle of a cell in pixels. */
  function rectangle(side, scale, [column, row]) {
    const { step } = side.cells;
    const [left, right] = [scale.x(column * step), scale.x((column + 1) * step)];
    if (row < 0) return { left, right, top: scale.y(0), bottom: scale.y(0) + FLAT };
    return { left, right, top: scale.y((row + 1) * step), bottom: scale.y(row * step) };
  }

  /** Draw cells, darker where there are more computations. */
  function drawCells(canvas, data, state, cells, scale, area, paint) {
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.beginPath();
    context.rect(area.left, area.top, area.right - area.left, area.bottom - area.top);
    context.clip();
    const most = Math.max(1, ...Object.values(cells).flat().map(([, , n]) => n));
    for (const [name, some] of Object.entries(cells)) {
      context.fillStyle = name === "after" ? paint.after : paint.point;
      for (const cell of some) {
        const { left, right, top, bottom } = rectangle(data.sides[name], scale, cell);
        const depth = 0.18 + 0.5 * (Math.log(cell[2]) / Math.log(most + 1));
        context.globalAlpha = state.query.trim() ? 0.3 * depth : depth;
        context.fillRect(left, top, Math.max(right - left - 0.5, 1), Math.max(bottom - top - 0.5, 1));
      }
    }
  }

  /** The cell at a pixel, or null. */
  function cellAt(data, cells, scale, x, y) {
    for (const [name, some] of Object.entries(cells)) {
      const cell = some.find((one) => {
        const { left, right, top, bottom } = rectangle(data.sides[name], scale, one);
        return x >= left && x < right && y >= top && y < bottom;
      });
      if (cell) return { side: name, cell };
    }
    return null;
  }

  function fillCellTooltip(tooltip, data, { side, cell: [column, row, n] }) {
    const { step } = data.sides[side].cells;
    const influence = row < 0 ? "0" : `above ${number(row * step)}, up to ${number((row + 1) * step)}`;
    tooltip.replaceChildren(
      element("div", { class: "picture-term" }, `${count(n, "computation")} in this cell`),
      ProxyusePicture.rows([
        ["association", `${number(column * step)} to below ${number((column + 1) * step)}`],
        ["influence", influence],
      ]),
      element("div", { class: "picture-note" }, side === "after" ? "after the repair" : ""),
    );
  }

  Object.assign(ProxyusePicture, {
    visibleCells, cellsAbove, inCells, drawCells, cellAt, fillCellTooltip,
  });
})();
