/* Above the canvas: the selected point with its bounds and relatives, and the tooltip. */
"use strict";

(() => {
  const { element, svg, number, whole, count, percent, describe } = ProxyusePicture;
  const NEAR = 14; // pixels within which the pointer hits a point

  /** The selected point, its confidence bounds, and lines to its parts and to what contains it. */
  function drawSelected(layer, data, state, scale, area) {
    layer.replaceChildren();
    if (!state.selected) return;
    const clip = svg("clipPath", { id: "picture-clip" }, svg("rect", {
      x: area.left, y: area.top, width: Math.max(area.right - area.left, 0),
      height: Math.max(area.bottom - area.top, 0),
    }));
    const drawn = svg("g", { "clip-path": "url(#picture-clip)" });
    layer.append(clip, drawn);
    const { side: name, index } = state.selected;
    const side = data.sides[name];
    const at = (i) => [scale.x(side.association[state.protected][i]), scale.y(side.influence[i])];
    const { around, inside } = ProxyusePicture.relatives(data, state.selected);
    const parts = ProxyusePicture.strongestFirst(
      data, state, inside.map((i) => ({ side: name, index: i })),
    ).slice(0, ProxyusePicture.LISTED).map((point) => point.index);
    const chain = [index, ...around];
    for (const part of parts) drawn.append(line(at(part), at(index), "picture-inside"));
    for (let i = 1; i < chain.length; i++) {
      drawn.append(line(at(chain[i - 1]), at(chain[i]), "picture-around"));
    }
    const selected = String(at(index));
    for (const kin of [...parts, ...around]) {
      if (String(at(kin)) !== selected) drawn.append(ring(at(kin), side.size[kin], 2, "kin"));
    }
    drawn.append(...bars(describe(data, state, state.selected), scale));
    drawn.append(ring(at(index), side.size[index], 7, "selected"));
  }

  function line([x1, y1], [x2, y2], kind) {
    return svg("line", { x1, y1, x2, y2, class: kind });
  }

  function ring([cx, cy], size, more, kind) {
    const r = ProxyusePicture.chart.diameter(size) / 2 + more;
    return svg("circle", { cx, cy, r, class: `picture-ring picture-ring-${kind}` });
  }

  /** Confidence bounds as error bars, each with two caps. */
  function bars(point, scale) {
    const [x, y] = [scale.x(point.association), scale.y(point.influence)];
    const made = [];
    if (point.bounds.association) {
      const [low, high] = point.bounds.association.map(scale.x);
      made.push(line([low, y], [high, y], "picture-bar"));
      for (const end of [low, high]) made.push(line([end, y - 6], [end, y + 6], "picture-bar"));
    }
    if (point.bounds.influence) {
      const [low, high] = point.bounds.influence.map(scale.y);
      made.push(line([x, low], [x, high], "picture-bar"));
      for (const end of [low, high]) made.push(line([x - 6, end], [x + 6, end], "picture-bar"));
    }
    return made;
  }

  /** The points near a pixel, nearest first; witnesses come before others at the same distance. */
  function pointsNear(data, state, visible, scale, x, y) {
    const near = [];
    for (const [name, indices] of Object.entries(visible)) {
      const side = data.sides[name];
      const association = side.association[state.protected];
      const witness = side.witness[state.protected];
      for (const index of indices) {
        const dx = scale.x(association[index]) - x;
        const dy = scale.y(side.influence[index]) - y;
        const distance = dx * dx + dy * dy;
        if (distance > NEAR * NEAR) continue;
        near.push({ side: name, index, distance: distance - (witness[index] ? 9 : 0) });
      }
    }
    return near.sort((a, b) => a.distance - b.distance || a.index - b.index);
  }

  /** The points that have the same coordinates as the first. */
  function stacked(data, state, near) {
    const key = ({ side, index }) => {
      const of = data.sides[side];
      return `${of.association[state.protected][index]} ${of.influence[index]}`;
    };
    return near.filter((point) => key(point) === key(near[0]));
  }

  function fillTooltip(tooltip, data, state, near) {
    const point = describe(data, state, near[0]);
    const more = stacked(data, state, near).length - 1;
    tooltip.replaceChildren(
      element("div", { class: "picture-term" }, point.term),
      rows([
        ["association", number(point.association)],
        ["influence", number(point.influence)],
        ["size", count(point.size, "node")],
        ["occurrences", whole(point.occurrences)],
        ["evaluated for", `${percent(point.reach)} of rows`],
      ]),
      element("div", { class: "picture-note" }, [
        point.explicit ? "the protected attribute itself" : point.witness ? "witness" : point.kind,
        near[0].side === "after" ? "after the repair" : null,
        more ? `${whole(more)} more at this point; click again for the next` : null,
      ].filter(Boolean).join(" · ")),
    );
  }

  function rows(pairs) {
    return element(
      "dl", { class: "picture-rows" },
      ...pairs.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]),
    );
  }

  /** Beside the point, on the side with more room. */
  function placeTooltip(tooltip, x, y, plot) {
    tooltip.hidden = false;
    const left = x + 16 + tooltip.offsetWidth > plot.clientWidth ? x - 16 - tooltip.offsetWidth : x + 16;
    const top = Math.min(Math.max(y - tooltip.offsetHeight / 2, 4),
      Math.max(plot.clientHeight - tooltip.offsetHeight - 4, 4));
    tooltip.style.left = `${Math.max(left, 4)}px`;
    tooltip.style.top = `${top}px`;
  }

  Object.assign(ProxyusePicture, {
    drawSelected, pointsNear, stacked, fillTooltip, placeTooltip, rows,
  });
})();
