// SPDX-License-Identifier: Apache-2.0
// The page Explore: choices that have a stored run, its time-line, numbers and scenario. And the time-lines of the first page.
(() => {
  const explore = (source) => {
    const { answers } = JSON.parse(source.textContent);
    const form = document.getElementById("rl-ask");
    const selects = [...form.querySelectorAll("select")];
    const frame = document.getElementById("rl-run");
    const table = document.getElementById("rl-flows");

    // each choice offers what runs have with the choices before it, and keeps its value where that is possible
    const offer = (wanted) => {
      let left = answers;
      selects.forEach((select, number) => {
        const values = [...new Set(left.map((one) => one.choice[number]))];
        select.replaceChildren(...values.map((value) => new Option(value, value)));
        if (values.includes(wanted[number])) select.value = wanted[number];
        left = left.filter((one) => one.choice[number] === select.value);
      });
      return left[0];
    };

    const show = (wanted) => {
      const chosen = offer(wanted);
      frame.src = chosen.page;
      frame.style.height = `${chosen.height}px`;
      const head = document.createElement("tr");
      for (const name of Object.keys(chosen.flows[0])) {
        const cell = document.createElement("th");
        cell.scope = "col";
        cell.textContent = name;
        head.append(cell);
      }
      table.replaceChildren(head);
      for (const flow of chosen.flows) {
        const row = table.insertRow();
        for (const value of Object.values(flow)) row.insertCell().textContent = value;
      }
      document.getElementById("rl-yaml").textContent = chosen.yaml;
      document.getElementById("rl-id").textContent = chosen.run;
      document.getElementById("rl-copied").textContent = "";
      try { history.replaceState(null, "", `#${chosen.run}`); } catch { /* a page in a frame has no address */ }
    };

    document.getElementById("rl-copy").addEventListener("click", async () => {
      const text = document.getElementById("rl-yaml");
      const said = document.getElementById("rl-copied");
      try {
        await navigator.clipboard.writeText(text.textContent);
        said.textContent = "copied";
      } catch {
        // pages that are files may not write there
        getSelection().selectAllChildren(text);
        said.textContent = "selected: press Ctrl-C";
      }
    });
    form.addEventListener("change", () => show(selects.map((select) => select.value)));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    // an address keeps what is chosen
    const kept = answers.find((one) => one.run === location.hash.slice(1));
    show(kept ? kept.choice : []);
  };

  // buttons in place of which a run is shown where the film's poster was
  const live = (box) => {
    const buttons = [...box.querySelectorAll("button")];
    for (const button of buttons) button.addEventListener("click", () => {
      const frame = box.querySelector("iframe");
      frame.src = button.dataset.page;
      frame.hidden = false;
      box.querySelector(".rl-poster").hidden = true;
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
    });
  };

  const start = () => {
    const source = document.getElementById("rl-answers");
    if (source) explore(source);
    document.querySelectorAll(".rl-live").forEach(live);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
