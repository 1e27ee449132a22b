// SPDX-License-Identifier: Apache-2.0
// A page on which a reader chooses what is drawn: rows of one or both sides, a number, and series. All numbers are in the page.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const ALL = "all";
  const SIZE = 4.5;
  // markers of matplotlib, as paths around 0, 0
  const PATHS = {
    o: "M-1,0a1,1 0 1,0 2,0a1,1 0 1,0 -2,0Z", s: "M-.9,-.9H.9V.9H-.9Z", D: "M0,-1.25L1.25,0L0,1.25L-1.25,0Z",
    v: "M-1.1,-.9H1.1L0,1.1Z", "^": "M-1.1,.9H1.1L0,-1.1Z", h: "M0,-1.2L1,-.6V.6L0,1.2L-1,.6V-.6Z",
    P: "M-.4,-1.2H.4V-.4H1.2V.4H.4V1.2H-.4V.4H-1.2V-.4H-.4Z",
  };
  const start = () => {
    const source = document.getElementById("rl-numbers");
    if (!source) return;
    const data = JSON.parse(source.textContent);
    const form = document.getElementById("rl-choices");
    const chart = document.getElementById("rl-chart");
    const table = document.getElementById("rl-table");
    const [metric, ...sides] = form.querySelectorAll("select");
    const boxes = [...form.querySelectorAll("input[type=checkbox]")];
    const short = (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3))));
    const color = (one) => (one.color === "#000000" ? "currentColor" : one.color);

    const element = (name, attributes, parent, text) => {
      const made = document.createElementNS(SVG, name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      if (text !== undefined) made.textContent = text;
      parent.append(made);
      return made;
    };
    const words = (cell) => (cell.length > 4 ? `${short(cell[3])} (${short(cell[4])} to ${short(cell[5])})` : short(cell[3]));

    // the rows that are chosen: pairs of positions on both sides, with a name that omits what is the same in all
    const rows = () => {
      const [first, second] = sides.map((side, number) =>
        side.value === ALL ? data.sides[number].values.map((_, position) => position) : [Number(side.value)]);
      const found = [];
      for (const one of first) for (const other of second) {
        const parts = [];
        if (first.length > 1 || second.length === 1) parts.push(data.sides[0].values[one]);
        if (second.length > 1) parts.push(data.sides[1].values[other]);
        const cells = data.cells[metric.value].filter((cell) => cell[0] === one && cell[1] === other && boxes[cell[2]].checked);
        if (cells.length) found.push({ name: parts.join(": "), cells });
      }
      return found;
    };

    const scale = (cells, log, width) => {
      const values = cells.flatMap((cell) => cell.slice(3));
      const least = Math.min(...values), most = Math.max(...values);
      if (log) {
        const low = Math.max(Math.min(...cells.map((cell) => cell[3])) / 1.6, Math.min(...values.filter((one) => one > 0)));
        const [begin, end] = [Math.log10(Math.min(low, 1)), Math.log10(Math.max(most, 1.2) * 1.05)];
        const ticks = [];
        for (let power = Math.floor(begin); power <= end; power++)
          for (const step of end - begin > 1.6 ? [1] : end - begin > 1.1 ? [1, 2, 5] : [1, 1.5, 2, 3, 5, 7]) {
            const at = step * 10 ** power;
            if (Math.log10(at) >= begin - 1e-9 && Math.log10(at) <= end) ticks.push(at);
          }
        return { ticks, x: (value) => ((Math.log10(Math.max(value, 10 ** begin)) - begin) / (end - begin)) * width };
      }
      const end = Math.max(most, 1e-9) * 1.05;
      const unit = 10 ** Math.floor(Math.log10(end / 4));
      const step = [1, 2, 5, 10].map((one) => one * unit).find((one) => end / one <= (width < 260 ? 4 : 6));
      const ticks = [];
      for (let at = 0; at <= end; at += step) ticks.push(Number(at.toPrecision(6)));
      return { ticks, x: (value) => (Math.min(Math.max(value, Math.min(least, 0), 0), end) / end) * width };
    };

    const draw = () => {
      const chosen = rows();
      const about = data.metrics.find((one) => one.name === metric.value);
      const shown = boxes.map((box, number) => number).filter((number) => boxes[number].checked);
      chart.replaceChildren();
      table.replaceChildren();
      if (!chosen.length) {
        chart.textContent = "Nothing is chosen, or no run has it.";
        return;
      }
      const total = chart.clientWidth;
      const narrow = total < 520;
      const left = Math.min(total * 0.45, 12 + (narrow ? 6.3 : 7.2) * Math.max(...chosen.map((row) => row.name.length)));
      const right = 14, step = Math.max(20, 9 * shown.length + 8), top = 6;
      const height = top + step * chosen.length;
      const svg = element("svg", { width: total, height: height + 44, viewBox: `0 0 ${total} ${height + 44}`, role: "img" }, chart);
      element("title", {}, svg, `${about.label}: the numbers are in the table below`);
      const { ticks, x } = scale(chosen.flatMap((row) => row.cells), about.log, total - left - right);
      for (const tick of ticks) {
        const at = left + x(tick);
        element("line", { x1: at, x2: at, y1: top, y2: height, class: "rl-grid-line" }, svg);
        element("text", { x: at, y: height + 15, "text-anchor": "middle", class: "rl-tick" }, svg, short(tick));
      }
      element("text", { x: left, y: height + 36, class: "rl-axis" }, svg, about.label);
      chosen.forEach((row, number) => {
        const middle = top + step * (number + 0.5);
        element("line", { x1: 0, x2: total, y1: top + step * (number + 1), y2: top + step * (number + 1), class: "rl-row-line" }, svg);
        element("text", { x: left - 8, y: middle + 4, "text-anchor": "end", class: "rl-row" }, svg, row.name);
        for (const cell of row.cells) {
          const one = data.series[cell[2]];
          const y = middle + 9 * (shown.indexOf(cell[2]) - (shown.length - 1) / 2);
          const group = element("g", { style: `color:${color(one)}`, class: "rl-mark", "data-mean": cell[3] }, svg);
          element("title", {}, group, `${row.name}, ${one.label}: ${words(cell)}`);
          if (cell.length > 4)
            element("line", { x1: left + x(cell[4]), x2: left + x(cell[5]), y1: y, y2: y, stroke: "currentColor", "stroke-width": 1.5 }, group);
          element("path", { d: PATHS[one.marker] || PATHS.o, transform: `translate(${left + x(cell[3])},${y}) scale(${SIZE * 0.8})`, fill: "currentColor" }, group);
        }
      });
      const head = table.createTHead().insertRow();
      const headings = [data.sides[sides[0].value === ALL ? 0 : 1].title, ...shown.map((one) => data.series[one].label)];
      for (const heading of headings) {
        const cell = document.createElement("th");
        cell.scope = "col";
        cell.textContent = heading;
        head.append(cell);
      }
      const body = table.createTBody();
      for (const row of chosen) {
        const line = body.insertRow();
        line.insertCell().textContent = row.name;
        for (const one of shown) {
          const cell = row.cells.find((each) => each[2] === one);
          line.insertCell().textContent = cell ? words(cell) : "\u2013";
        }
      }
      const state = new URLSearchParams([["number", metric.value], ...sides.map((side, number) => [`side${number}`, side.value]),
        ["series", shown.join(".")]]);
      try { history.replaceState(null, "", `#${state}`); } catch { /* a page in a frame has no address */ }
    };

    // an address keeps what is chosen
    const state = new URLSearchParams(location.hash.slice(1));
    const choose = (select, value) => { if (value && [...select.options].some((one) => one.value === value)) select.value = value; };
    choose(metric, state.get("number"));
    sides.forEach((side, number) => choose(side, state.get(`side${number}`)));
    if (state.get("series")) for (const box of boxes) box.checked = state.get("series").split(".").includes(box.value);

    form.addEventListener("change", draw);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    new ResizeObserver(draw).observe(chart.parentElement);
    draw();
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
