/* The shaded region above both thresholds. Its two edges are sliders. */
"use strict";

(() => {
  const { element, number } = ProxyusePicture;
  const STEP = 0.005;
  const PAGE = 0.05;
  const GRAB = 28; // pixels of an edge that can always be dragged

  const ACROSS = { more: ["ArrowRight", "ArrowUp"], less: ["ArrowLeft", "ArrowDown"] };

  /**
   * The region below the canvas and the sliders above it.
   * `changed(name, value)` is called when one is moved.
   */
  function mountThresholds(data, changed) {
    const region = element("div", { class: "picture-region" });
    const audited = element("div", { class: "picture-audited" });
    const sliders = {
      epsilon: slider("epsilon", "association", "horizontal", 1, changed),
      delta: slider("delta", "influence", "vertical", Math.max(1, data.delta), changed),
    };
    return {
      below: [region],
      above: [audited, sliders.epsilon, sliders.delta],
      sliders,
      align: (state, scale, area) => align(data, state, scale, area, { region, audited, sliders }),
      update: (state, text) => {
        for (const [name, what] of [["epsilon", "association"], ["delta", "influence"]]) {
          const limit = name === "epsilon" ? "at least" : "above";
          sliders[name].setAttribute("aria-valuenow", number(state[name]));
          sliders[name].setAttribute(
            "aria-valuetext", `${what} ${limit} ${number(state[name])}; ${text}`,
          );
          sliders[name].firstChild.textContent =
            `${what} ${name === "epsilon" ? "≥" : ">"} ${number(state[name])}`;
        }
      },
    };
  }

  function slider(name, what, orientation, most, changed) {
    const made = element(
      "div",
      {
        class: `picture-edge picture-edge-${name}`,
        role: "slider",
        tabindex: "0",
        "data-threshold": name,
        "aria-label": `Try another ${what} threshold`,
        "aria-orientation": orientation,
        "aria-valuemin": "0",
        "aria-valuemax": String(most),
        title: "Drag, or use the arrow keys",
      },
      element("span", { class: "picture-edge-label" }),
      element("span", { class: "picture-edge-grip" }),
    );
    const value = () => Number(made.getAttribute("aria-valuenow"));
    const set = (wanted) =>
      changed(name, Math.round(Math.min(Math.max(wanted, 0), most) * 1000) / 1000);
    made.addEventListener("keydown", (event) => {
      const step = event.shiftKey ? PAGE : STEP;
      if (ACROSS.more.includes(event.key)) set(value() + step);
      else if (ACROSS.less.includes(event.key)) set(value() - step);
      else if (event.key === "PageUp") set(value() + PAGE);
      else if (event.key === "PageDown") set(value() - PAGE);
      else if (event.key === "Home") set(0);
      else if (event.key === "End") set(most);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    made.addEventListener("pointerdown", (event) => {
      made.setPointerCapture(event.pointerId);
      made.classList.add("picture-held");
      made.focus({ preventScroll: true });
      event.preventDefault();
    });
    made.addEventListener("pointermove", (event) => {
      if (!made.hasPointerCapture(event.pointerId)) return;
      const box = made.parentElement.getBoundingClientRect();
      set(made.valueAt(event.clientX - box.left, event.clientY - box.top));
    });
    for (const end of ["pointerup", "pointercancel"]) {
      made.addEventListener(end, () => made.classList.remove("picture-held"));
    }
    return made;
  }

  function align(data, state, scale, area, { region, audited, sliders }) {
    const now = corner(state, scale, area);
    box(region, now.x, area.top, area.right, now.y);
    const then = corner(data, scale, area);
    box(audited, then.x, area.top, area.right, then.y);
    audited.hidden = ProxyusePicture.audited(data, state);
    const { epsilon, delta } = sliders;
    epsilon.valueAt = (x) => scale.association(x);
    delta.valueAt = (_, y) => scale.influence(y);
    box(epsilon, now.x - 7, area.top, now.x + 7, Math.max(now.y, area.top + GRAB));
    box(delta, Math.min(now.x, area.right - GRAB), now.y - 7, area.right, now.y + 7);
    epsilon.classList.toggle("picture-outside", now.outsideX);
    delta.classList.toggle("picture-outside", now.outsideY);
  }

  /** The point where the edges meet, clamped to the plot. */
  function corner({ epsilon, delta }, scale, area) {
    const x = scale.x(epsilon);
    const y = scale.y(delta);
    return {
      x: Math.min(Math.max(x, area.left), area.right),
      y: Math.min(Math.max(y, area.top), area.bottom),
      outsideX: x < area.left || x > area.right,
      outsideY: y < area.top || y > area.bottom,
    };
  }

  function box(made, left, top, right, bottom) {
    made.style.left = `${left}px`;
    made.style.top = `${top}px`;
    made.style.width = `${Math.max(right - left, 0)}px`;
    made.style.height = `${Math.max(bottom - top, 0)}px`;
  }

  Object.assign(ProxyusePicture, { mountThresholds });
})();
