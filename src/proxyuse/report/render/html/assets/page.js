// Sorting, selecting a witness, the color switch, and "Open all". Everything else is static HTML.
(() => {
  "use strict";

  const root = document.documentElement;
  const table = document.getElementById("witness-table");
  const body = table && table.tBodies[0];

  // A witness is selected by a click on a row of the table, on a point of the chart, or on a link.

  const select = (protectedIndex, id) =>
    document.dispatchEvent(
      new CustomEvent("proxyuse:select", { detail: { protected: Number(protectedIndex), id } }),
    );

  const sectionOf = (protectedIndex, id) =>
    document.getElementById(`witness-${protectedIndex}-${id}`);

  const openSection = (section) => {
    const more = section.querySelector("details.more");
    if (more) more.open = true;
    for (const other of document.querySelectorAll(".witness.selected")) other.classList.remove("selected");
    section.classList.add("selected");
  };

  const show = (section) => {
    openSection(section);
    section.scrollIntoView({ block: "start" });
    section.focus({ preventScroll: true });
  };

  document.addEventListener("proxyuse:select", (event) => {
    const { protected: index, id } = event.detail;
    for (const line of body ? body.rows : []) {
      const same = line.dataset.id === id && line.dataset.protected === String(index);
      if (same) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
    const section = sectionOf(index, id);
    if (section) openSection(section);
  });

  if (body) {
    body.addEventListener("click", (event) => {
      const line = event.target.closest("tr[data-id]");
      if (!line) return;
      const link = event.target.closest("a");
      if (link) event.preventDefault();
      const { protected: index, id } = line.dataset;
      select(index, id);
      const section = sectionOf(index, id);
      if (section) show(section);
      else document.getElementById("picture-section").scrollIntoView();
    });
  }

  const followHash = () => {
    const section = location.hash.startsWith("#witness-") && document.getElementById(location.hash.slice(1));
    if (section) openSection(section);
  };
  addEventListener("hashchange", followHash);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#witness-"]');
    const section = link && document.getElementById(link.getAttribute("href").slice(1));
    if (section) openSection(section);
  });
  followHash();

  // Column headings sort the table: numbers descending, text ascending; a second click reverses.

  const text = (line, column) => line.cells[column].textContent.trim();
  const number = (line, column) => Number(text(line, column).replace(/[,~]/g, ""));

  const sortBy = (head) => {
    const column = head.cellIndex;
    const numeric = head.classList.contains("num");
    const now = head.getAttribute("aria-sort");
    const first = numeric ? "descending" : "ascending";
    const other = numeric ? "ascending" : "descending";
    const order = now === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const lines = [...body.rows];
    lines.sort((a, b) =>
      numeric
        ? sign * (number(a, column) - number(b, column))
        : sign * text(a, column).localeCompare(text(b, column)),
    );
    for (const one of table.tHead.rows[0].cells) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", order);
    body.append(...lines);
  };

  if (table) {
    for (const button of table.querySelectorAll("button.sort")) {
      button.addEventListener("click", () => sortBy(button.closest("th")));
    }
  }

  // Rows beyond the first are embedded as data and added to the table on demand.

  const rest = document.getElementById("show-rest");
  const data = document.getElementById("more-lines");

  const cell = (content, style) => {
    const made = document.createElement("td");
    if (style) made.className = style;
    made.append(content);
    return made;
  };

  const badge = (word) => {
    const made = document.createElement("span");
    const styles = { confirmed: "mark", possible: "doubt", "judged appropriate": "good", "judged inappropriate": "mark" };
    made.className = `badge ${styles[word] || ""}`;
    made.textContent = word;
    return made;
  };

  const isolated = (words) => {
    const made = document.createElement("bdi");
    made.textContent = words.replace(/[\u2068\u2069]/g, "");
    return made;
  };

  const link = (content) => {
    const made = document.createElement("a");
    made.href = "#picture-section";
    made.append(content);
    return made;
  };

  // Values have four decimals; halves are rounded up, as in the rest of the page.
  const fixed = (value) => (Math.round(Math.round(value * 1e4) / 10) / 1e3).toFixed(3);

  const showRest = () => {
    if (!data || !rest || rest.hidden) return;
    const { protected: names, lines } = JSON.parse(data.textContent);
    for (const [index, id, words, associated, influence, occurrences, verdict, judged] of lines) {
      const line = document.createElement("tr");
      line.dataset.protected = index;
      line.dataset.id = id;
      if (names.length > 1) line.append(cell(isolated(names[index])));
      line.append(
        cell(link(isolated(words)), "words"),
        cell(associated, "num"),
        cell(fixed(influence), "num"),
        cell(occurrences.toLocaleString("en"), "num"),
        cell(badge(verdict)),
        cell(badge(judged)),
      );
      body.append(line);
    }
    rest.hidden = true;
  };

  if (rest && data) {
    rest.hidden = false;
    rest.addEventListener("click", showRest);
  }

  // Content wider than its container can be scrolled by keyboard.

  const wide = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      if (target.scrollWidth > target.clientWidth + 1) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const one of document.querySelectorAll(".scroll, .drawing")) wide.observe(one);

  // Light or dark follows the system until the reader uses the switch.

  const theme = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-label", isDark() ? "Switch to light mode" : "Switch to dark mode");
  };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  system.addEventListener("change", label);
  label();

  // Open all sections. Printing opens them too, in light colors.

  const all = document.getElementById("open-all");
  const folds = () => [...document.querySelectorAll("main details")];
  all.hidden = false;
  all.addEventListener("click", () => {
    const open = folds().some((fold) => !fold.open);
    for (const fold of folds()) fold.open = open;
    all.textContent = open ? "Close all" : "Open all";
  });

  let before = null;
  addEventListener("beforeprint", () => {
    if (before) return;
    before = { theme: root.dataset.theme, open: folds().filter((fold) => fold.open) };
    for (const fold of document.querySelectorAll("details.more")) fold.open = true;
    root.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    if (!before) return;
    for (const fold of folds()) fold.open = before.open.includes(fold);
    if (before.theme) root.dataset.theme = before.theme;
    else delete root.dataset.theme;
    before = null;
  });
})();
