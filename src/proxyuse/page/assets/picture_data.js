/* What the picture knows: the columns of #points, and questions about them. Nothing here draws. */
"use strict";
const ProxyusePicture = {};

(() => {
  const LISTED = 200; // of found terms, of the parts of a selected one

  /** The columns, by side: before the repair, and after it if there was one. */
  function read(text) {
    const found = JSON.parse(text);
    const sides = { before: found.columns };
    if (found.after) sides.after = found.after;
    for (const side of Object.values(sides)) {
      side.children = childrenOf(side.parent);
      side.place = new Map(side.id.map((id, index) => [id, index]));
    }
    return { ...found, sides };
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

  /** For each side that is looked at, the numbers of the points that pass the filters. */
  function shown(data, state) {
    const kept = {};
    for (const [name, side] of Object.entries(data.sides)) {
      kept[name] = [];
      if (state.side !== "both" && state.side !== name) continue;
      for (let i = 0; i < side.id.length; i++) {
        if (side.influence[i] === null || !state.kinds.has(side.kind[i])) continue;
        if (state.variables.size && !side.variables[i].some((v) => state.variables.has(v))) continue;
        kept[name].push(i);
      }
    }
    return kept;
  }

  /** Whether thresholds are those of the audit. */
  function audited(data, state) {
    return state.epsilon === data.epsilon && state.delta === data.delta;
  }

  /**
   * How many of some points are above both thresholds. At the audited ones that is what the audit
   * says, which knows more decimals than are drawn.
   */
  function above(data, state, kept) {
    const itself = audited(data, state);
    const counts = {};
    for (const [name, indices] of Object.entries(kept)) {
      const side = data.sides[name];
      const association = side.association[state.protected];
      const witness = side.witness[state.protected];
      counts[name] = 0;
      for (const i of indices) {
        const passes = itself
          ? witness[i]
          : association[i] >= state.epsilon && side.influence[i] > state.delta;
        if (passes) counts[name]++;
      }
    }
    return counts;
  }

  /** The points whose term has a text in it, or whose id begins with it. */
  function matching(data, state, kept) {
    const text = state.query.trim().toLowerCase();
    const found = [];
    for (const [name, indices] of Object.entries(kept)) {
      const side = data.sides[name];
      side.lower ??= side.term.map((term) => term.toLowerCase()); // only if something is searched
      for (const index of indices) {
        if (text && !side.lower[index].includes(text) && !side.id[index].startsWith(text)) continue;
        found.push({ side: name, index });
      }
    }
    return found;
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

  /** What a point is part of, nearest first, and its direct parts that were measured. */
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

  /** For points after the repair that are also there before: both numbers. */
  function moved(data, kept) {
    if (!data.sides.after) return [];
    const before = new Set(kept.before);
    return kept.after
      .map((index) => [data.sides.after.was[index], index])
      .filter(([was]) => before.has(was));
  }

  /** A point as the tooltip, the list and the details tell it. */
  function told(data, state, { side, index }) {
    const of = data.sides[side];
    const bounds = (name) => {
      const pick = (end) => {
        const column = of[end][name];
        return name === "association" ? column[state.protected][index] : column[index];
      };
      return pick("low") === null ? null : [pick("low"), pick("high")];
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

  /** How far both axes reach: up to what there is, its bounds and the thresholds, with room. */
  function reach(data, state) {
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
    LISTED, read, shown, audited, above, matching, strongestFirst, relatives, moved, told, reach,
  });
})();
