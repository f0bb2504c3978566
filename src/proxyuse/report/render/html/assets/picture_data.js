/* The data of the chart: the columns of #points and queries on them. Nothing here draws. */
"use strict";
const ProxyusePicture = {};

(() => {
  const LISTED = 200; // search results, and parts of a selected computation

  /** The columns, by side: before the repair, and after it if there was one. */
  function read(text) {
    const data = JSON.parse(text);
    const sides = { before: data.columns };
    if (data.after) sides.after = data.after;
    for (const side of Object.values(sides)) {
      side.children = childrenOf(side.parent);
      side.indexOf = new Map(side.id.map((id, index) => [id, index]));
    }
    return { ...data, sides };
  }

  function childrenOf(parent) {
    const children = new Map();
    parent.forEach((above, index) => {
      if (above < 0) return;
      if (!children.has(above)) children.set(above, []);
      children.get(above).push(index);
    });
    return children;
  }

  /** For each side in view, the indices of the points that pass the filters. */
  function visiblePoints(data, state) {
    const visible = {};
    for (const [name, side] of Object.entries(data.sides)) {
      visible[name] = [];
      if (state.side !== "both" && state.side !== name) continue;
      for (let i = 0; i < side.id.length; i++) {
        if (side.influence[i] === null || !state.kinds.has(side.kind[i])) continue;
        if (state.variables.size && !side.variables[i].some((v) => state.variables.has(v))) continue;
        visible[name].push(i);
      }
    }
    return visible;
  }

  /** Whether the thresholds are those of the audit. */
  function audited(data, state) {
    return state.epsilon === data.epsilon && state.delta === data.delta;
  }

  /**
   * How many computations are above both thresholds: the least and the largest number possible.
   * At the audited thresholds this is the audit's own count, which uses more decimals than are
   * drawn. Elsewhere the two differ if a threshold cuts through a cell that is not empty.
   */
  function above(data, state, visible, cells) {
    const itself = audited(data, state);
    const counts = {};
    for (const [name, indices] of Object.entries(visible)) {
      const side = data.sides[name];
      const association = side.association[state.protected];
      const witness = side.witness[state.protected];
      let points = 0;
      for (const i of indices) {
        const passes = itself
          ? witness[i]
          : association[i] >= state.epsilon && side.influence[i] > state.delta;
        if (passes) points++;
      }
      const [least, most] = itself ? [0, 0] : ProxyusePicture.cellsAbove(side, state, cells[name]);
      counts[name] = { least: points + least, most: points + most };
    }
    return counts;
  }

  /** The points whose term contains the query, or whose id starts with it. */
  function matching(data, state, visible) {
    const text = state.query.trim().toLowerCase();
    const matches = [];
    for (const [name, indices] of Object.entries(visible)) {
      const side = data.sides[name];
      side.lower ??= side.term.map((term) => term.toLowerCase()); // on the first search
      for (const index of indices) {
        if (text && !side.lower[index].includes(text) && !side.id[index].startsWith(text)) continue;
        matches.push({ side: name, index });
      }
    }
    return matches;
  }

  /** Witnesses first, then by association, then by influence. */
  function strongestFirst(data, state, points) {
    const rank = ({ side, index }) => {
      const of = data.sides[side];
      return [of.witness[state.protected][index], of.association[state.protected][index],
        of.influence[index]];
    };
    return points
      .map((point) => [rank(point), point])
      .sort(([a], [b]) => b[0] - a[0] || b[1] - a[1] || b[2] - a[2])
      .map(([, point]) => point);
  }

  /** The measured computations around a point, nearest first, and its direct parts. */
  function relatives(data, point) {
    const side = data.sides[point.side];
    const around = [];
    const seen = new Set([point.index]);
    let above = side.parent[point.index];
    while (above >= 0 && !seen.has(above)) {
      seen.add(above);
      around.push(above);
      above = side.parent[above];
    }
    const drawn = (index) => side.influence[index] !== null;
    return {
      around: around.filter(drawn),
      inside: (side.children.get(point.index) || []).filter(drawn),
    };
  }

  /** The points that exist before and after the repair, as pairs of indices. */
  function moved(data, visible) {
    if (!data.sides.after) return [];
    const before = new Set(visible.before);
    return visible.after
      .map((index) => [data.sides.after.previous[index], index])
      .filter(([previous]) => before.has(previous));
  }

  /** The values of one point, for the tooltip, the list and the details. */
  function describe(data, state, { side, index }) {
    const of = data.sides[side];
    const bounds = (name) => {
      const pick = (end) => {
        const column = of[end][name];
        return name === "association" ? column[state.protected][index] : column[index];
      };
      return pick("low") === null || pick("high") === null ? null : [pick("low"), pick("high")];
    };
    return {
      id: of.id[index],
      term: of.term[index],
      association: of.association[state.protected][index],
      influence: of.influence[index],
      reach: of.reach[index],
      size: of.size[index],
      occurrences: of.occurrences[index],
      kind: data.kinds[of.kind[index]],
      variables: of.variables[index].map((v) => data.variables[v]),
      witness: Boolean(of.witness[state.protected][index]),
      explicit: Boolean(of.explicit?.[state.protected][index]),
      bounds: { association: bounds("association"), influence: bounds("influence") },
    };
  }

  /** The ends of both axes: beyond all points, their bounds and the thresholds. */
  function extents(data, state) {
    let across = data.epsilon * 1.3;
    let up = data.delta * 1.3;
    for (const side of Object.values(data.sides)) {
      for (const value of side.association[state.protected]) across = Math.max(across, value * 1.08);
      for (const value of side.influence) up = Math.max(up, (value ?? 0) * 1.1);
      for (const value of side.high.association[state.protected]) across = Math.max(across, value * 1.03);
      for (const value of side.high.influence) up = Math.max(up, value * 1.03);
    }
    const least = 0.05;
    return { across: Math.min(Math.max(across, least), 1.03), up: Math.max(up, least) };
  }

  Object.assign(ProxyusePicture, {
    LISTED, read, visiblePoints, audited, above, matching, strongestFirst, relatives, moved, describe,
    extents,
  });
})();
