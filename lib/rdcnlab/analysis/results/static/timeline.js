// SPDX-License-Identifier: Apache-2.0
// The time-line of a run: charts over one time axis. Every zoom applies to all of them.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const host = document.getElementById("panels");
  const end = data.end_ms;
  // Rows with a span for each slot, or for the time that a program ran.
  const rows = [...data.timetables, ...data.programs];
  // Zooming stops at ten times the resolution of the clock.
  const narrowest = Math.max(1e-5, end * 1e-9);
  const state = { min: 0, max: end, hidden: new Set() };
  let charts = [];
  let busy = false;

  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const shown = (ms) => {
    const digits = Math.max(0, Math.min(6, 3 - Math.floor(Math.log10(Math.max(state.max - state.min, 1e-6)))));
    return ms.toFixed(digits);
  };

  // The one place that changes the shown time.
  const show = (min, max) => {
    const length = Math.min(end, Math.max(narrowest, max - min));
    min = Math.max(0, Math.min(min, end - length));
    state.min = min;
    state.max = min + length;
    busy = true;
    for (const chart of charts) chart.setScale("x", { min: state.min, max: state.max });
    busy = false;
    document.getElementById("span").textContent = `${shown(state.min)} to ${shown(state.max)} ms`;
    try {
      const whole = state.min === 0 && state.max === end;
      history.replaceState(null, "", whole ? "#" : `#ms=${state.min}-${state.max}`);
    } catch { /* a page inside a notebook has no address */ }
  };
  const zoom = (factor, at = (state.min + state.max) / 2) =>
    show(at - (at - state.min) * factor, at + (state.max - at) * factor);
  const move = (share) => {
    const by = (state.max - state.min) * share;
    show(state.min + by, state.max + by);
  };

  // First place of a sorted list whose value is not less.
  const place = (list, value) => {
    let low = 0, high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < value) low = middle + 1; else high = middle;
    }
    return low;
  };

  const fill = (u, spans, color) => {
    const { ctx, bbox } = u;
    ctx.fillStyle = color;
    let last = -1;
    for (const [begin, finish] of spans) {
      if (finish < state.min || begin > state.max) continue;
      const left = Math.max(bbox.left, u.valToPos(begin, "x", true));
      const right = Math.min(bbox.left + bbox.width, u.valToPos(finish, "x", true));
      if (right <= last) continue;
      ctx.fillRect(Math.max(left, last), bbox.top, Math.max(right - Math.max(left, last), 0.5), bbox.height);
      last = right;
    }
  };
  const shade = (u) => {
    fill(u, data.nights, css("--night"));
    if (!data.nights.length) fill(u, data.moved, css("--moved"));
  };

  const touch = (u) => {
    // One finger moves, two zoom; vertical scrolling stays with the page.
    const points = new Map();
    const at = (x) => u.posToVal(x - u.over.getBoundingClientRect().left, "x");
    u.over.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") points.set(event.pointerId, event.clientX);
    });
    u.over.addEventListener("pointermove", (event) => {
      if (!points.has(event.pointerId)) return;
      const before = [...points.values()];
      points.set(event.pointerId, event.clientX);
      const after = [...points.values()];
      if (after.length === 1) {
        const by = at(before[0]) - at(after[0]);
        if (state.max - state.min < end) show(state.min + by, state.max + by);
      } else if (after.length === 2) {
        const [was, is] = [Math.abs(before[1] - before[0]), Math.abs(after[1] - after[0])];
        if (was > 8 && is > 8) zoom(was / is, at((after[0] + after[1]) / 2));
      }
    });
    for (const name of ["pointerup", "pointercancel", "pointerleave"])
      u.over.addEventListener(name, (event) => points.delete(event.pointerId));
    u.over.addEventListener("wheel", (event) => {
      if (event.ctrlKey || event.metaKey) {
        event.preventDefault();
        zoom(event.deltaY > 0 ? 1.25 : 0.8, at(event.clientX));
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        move(event.deltaX / u.over.clientWidth);
      }
    }, { passive: false });
  };

  const axes = (narrow, more = {}) => [
    { stroke: css("--faint"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") }, size: 26, font: "11px system-ui" },
    { stroke: css("--faint"), grid: { stroke: css("--line"), width: 1 }, ticks: { stroke: css("--line") }, size: narrow ? 66 : 86, font: "11px system-ui", ...more },
  ];

  const options = (width, height, narrow) => ({
    width, height, padding: [6, 8, 0, 0],
    scales: { x: { time: false, auto: false, min: state.min, max: state.max } },
    axes: axes(narrow),
    cursor: {
      y: false, sync: { key: "rdcnlab", setSeries: false, scales: ["x", null] }, drag: { x: true, y: false, dist: 6 }, points: { show: false },
      bind: { dblclick: () => () => { show(0, end); return null; } },
    },
    legend: { show: false },
    hooks: {
      drawClear: [shade],
      setScale: [(u, key) => { if (key === "x" && !busy) show(u.scales.x.min, u.scales.x.max); }],
      setCursor: [(u) => { if (u.cursor.left >= 0) now(u.posToVal(u.cursor.left, "x")); }],
      ready: [touch],
    },
  });

  const now = (ms) => {
    if (!(ms >= 0 && ms <= end)) return;
    const words = rows.map(({ name, spans }) => {
      const span = spans[place(spans.map((one) => one[0]), ms + 1e-12) - 1];
      return span && ms <= span[1] ? `${name}: ${span[2]}` : "";
    });
    const counts = data.events.map(({ name, t }) => {
      const half = (state.max - state.min) / 400;
      const count = place(t, ms + half) - place(t, ms - half);
      return count ? `${count} ${name}` : "";
    });
    document.getElementById("now").textContent = [`${shown(ms)} ms`, ...words, ...counts].filter(Boolean).join("; ");
  };

  const panel = (title, keys) => {
    const box = document.createElement("div");
    box.className = "panel";
    const head = document.createElement("h3");
    head.textContent = title;
    if (keys) {
      const list = document.createElement("span");
      list.className = "keys";
      for (const [name, color] of keys) {
        const mark = document.createElement("i");
        mark.style.background = color;
        list.append(mark, name);
      }
      head.append(list);
    }
    box.append(head);
    host.append(box);
    return box;
  };

  const labelled = (box, words) => {
    for (const canvas of box.querySelectorAll("canvas")) {
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", words);
    }
  };

  // Rows with names in place of a vertical axis: timetables, and events.
  const lanes = (title, names, keys, width, narrow, height, draw) => {
    const box = panel(title, keys);
    const base = options(width, names.length * height + 34, narrow);
    base.scales.y = { range: () => [0, names.length], dir: -1 };
    const longest = narrow ? 8 : 12;
    base.axes[1] = {
      ...base.axes[1], grid: { show: false }, splits: () => names.map((_, row) => row + 0.5),
      values: () => names.map((name) => (name.length > longest ? `${name.slice(0, longest - 1)}…` : name)),
    };
    base.series = [{}, { show: true, paths: () => null, points: { show: false } }];
    base.hooks.draw = [draw];
    charts.push(new uPlot(base, [[0, end], [null, null]], box));
    labelled(box, title);
  };

  const timetables = (width, narrow) => {
    const names = rows.map((one) => one.name);
    const keys = Object.entries(data.colors);
    if (data.nights.length) keys.push(["below: night, nothing passes", css("--night")]);
    else if (data.moved.length) keys.push([`below: ${data.timetables[0].name} is not on ${data.timetables[0].spans[0][2]}`, css("--moved")]);
    const titles = [data.timetables.length && "timetables", data.programs.length && "programs"];
    lanes(titles.filter(Boolean).join(" and "), names, keys, width, narrow, 18, (u) => {
      const { ctx, bbox } = u;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.font = `${10 * devicePixelRatio}px system-ui`;
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      rows.forEach(({ spans }, row) => {
        const [top, bottom] = [row + 0.08, row + 0.92].map((y) => u.valToPos(y, "y", true)).sort((a, b) => a - b);
        for (const [begin, finish, target] of spans) {
          if (finish < state.min || begin > state.max) continue;
          const left = u.valToPos(Math.max(begin, state.min), "x", true);
          const right = u.valToPos(Math.min(finish, state.max), "x", true);
          ctx.fillStyle = data.colors[target] || "#888";
          // of a program that took no time, a line is seen, also at the end
          const least = row < data.timetables.length ? 0.5 : 2;
          ctx.fillRect(Math.min(left, bbox.left + bbox.width - least), top, Math.max(right - left, least), bottom - top);
          if (right - left > ctx.measureText(target).width + 8) {
            ctx.fillStyle = data.inks[target] || "#000";
            ctx.fillText(target, (left + right) / 2, (top + bottom) / 2);
          }
        }
      });
      ctx.restore();
    });
  };

  const events = (width, narrow) => {
    // a flow is named at its first row; the colour says what happened
    const names = data.events.map((one, row) => (row && one.of === data.events[row - 1].of ? "" : one.of));
    const keys = data.kinds.filter(([, color]) => data.events.some((one) => one.color === color));
    lanes("losses, marks and retransmissions", names, keys, width, narrow, 15, (u) => {
      const { ctx } = u;
      data.events.forEach(({ t, color, flow }, row) => {
        if (state.hidden.has(flow)) return;
        const [top, bottom] = [row + 0.12, row + 0.88].map((y) => u.valToPos(y, "y", true)).sort((a, b) => a - b);
        ctx.fillStyle = color;
        const wide = Math.max(1, devicePixelRatio);
        let last = -1;
        for (let k = place(t, state.min); k < t.length && t[k] <= state.max; k++) {
          const x = Math.round(u.valToPos(t[k], "x", true));
          if (x !== last) ctx.fillRect(x - wide / 2, top, wide, bottom - top);
          last = x;
        }
      });
    });
  };

  const curves = ({ title, series, limit }, width, narrow) => {
    const box = panel(title);
    const base = options(width, narrow ? 150 : 190, narrow);
    base.scales.y = { range: (u, low, high) => [Math.min(0, low || 0), (high || 1) * 1.05] };
    base.legend = { show: series.length <= 8, live: true };
    const stepped = uPlot.paths.stepped({ align: 1 });
    base.series = [
      { label: "ms", value: (u, v) => (v == null ? "" : shown(v)) },
      ...series.map((one) => ({
        label: one.name, stroke: one.color || css("--ink"), width: 1.2, paths: stepped, dash: one.dash, points: { show: false },
        show: !state.hidden.has(one.flow), value: (u, v) => (v == null ? "" : v.toPrecision(4)),
      })),
    ];
    if (limit != null) base.hooks.draw = [(u) => {
      const y = u.valToPos(limit, "y", true);
      if (y < u.bbox.top) return;
      u.ctx.save();
      u.ctx.strokeStyle = css("--faint");
      u.ctx.setLineDash([3, 4]);
      u.ctx.beginPath();
      u.ctx.moveTo(u.bbox.left, y);
      u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
      u.ctx.stroke();
      u.ctx.restore();
    }];
    const chart = new uPlot(base, uPlot.join(series.map((one) => [one.t, one.y])), box);
    chart.flows = series.map((one) => one.flow);
    charts.push(chart);
    labelled(box, `${title} over time: ${series.map((one) => one.name).join(", ")}`);
  };

  let wide = 0;
  const build = () => {
    for (const chart of charts) chart.destroy();
    charts = [];
    host.textContent = "";
    const width = wide = host.clientWidth, narrow = width < 560;
    if (rows.length) timetables(width, narrow);
    for (const one of data.panels) curves(one, width, narrow);
    if (data.events.length) events(width, narrow);
    show(state.min, state.max);
  };

  const flows = document.getElementById("flows");
  for (const { name, color } of data.flows) {
    const label = document.createElement("label"), box = document.createElement("input"), line = document.createElement("i");
    box.type = "checkbox";
    box.checked = true;
    line.style.background = color;
    label.append(box, line, name);
    flows.append(label);
    box.addEventListener("change", () => {
      if (box.checked) state.hidden.delete(name); else state.hidden.add(name);
      for (const chart of charts) {
        (chart.flows || []).forEach((flow, k) => { if (flow === name) chart.setSeries(k + 1, { show: box.checked }); });
        chart.redraw();
      }
    });
  }

  const on = (id, act) => document.getElementById(id).addEventListener("click", act);
  on("back", () => move(-0.5));
  on("on", () => move(0.5));
  on("in", () => zoom(0.5));
  on("out", () => zoom(2));
  on("whole", () => show(0, end));
  const keys = {
    ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25), "+": () => zoom(0.5), "=": () => zoom(0.5),
    "-": () => zoom(2), 0: () => show(0, end),
  };
  host.addEventListener("keydown", (event) => {
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });

  const asked = /^#ms=([0-9.e+-]+?)-([0-9.e+]+)$/.exec(location.hash);
  if (asked) [state.min, state.max] = [Number(asked[1]), Number(asked[2])];
  build();
  let waiting = 0;
  new ResizeObserver(() => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { if (host.clientWidth !== wide) build(); }, 120);
  }).observe(host);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", build);
  // for tests, and for the console of a browser
  window.timeline = { state, show, charts: () => charts, data };
})();
