// SPDX-License-Identifier: Apache-2.0
// The report's filter: show only claims with the chosen verdicts, of the chosen paper. Without JavaScript all are shown.
(() => {
  const start = () => {
    const form = document.getElementById("report-filter");
    if (!form) return;
    const claims = [...document.querySelectorAll(".rl-claim, .rl-tile")];
    const noun = document.querySelector(".rl-tile") ? "figures" : "claims";
    // the section of a heading, in the site and on the page by itself
    const items = [...new Set(claims.map((claim) => claim.closest("section")))];
    const papers = [...new Set(items.map((item) => item.parentElement.closest("section")))].filter(Boolean);
    const visible = ".rl-claim:not([hidden]), .rl-tile:not([hidden])";
    const count = form.querySelector("output");

    const apply = () => {
      const chosen = new Set([...form.querySelectorAll("input:checked")].map((box) => box.value));
      const paper = form.elements.paper.value;
      let shown = 0;
      for (const claim of claims) {
        const verdicts = claim.dataset.verdicts.split(" ");
        claim.hidden = !verdicts.some((one) => chosen.has(one)) || (paper && claim.dataset.paper !== paper);
        shown += !claim.hidden;
      }
      for (const item of items) item.hidden = !item.querySelector(visible);
      for (const one of papers) one.hidden = !one.contains(form) && !one.querySelector(visible);
      // a claim that is looked for is not left folded
      const filtered = shown < claims.length;
      for (const fold of document.querySelectorAll(".rl-folded")) if (filtered) fold.open = Boolean(fold.querySelector(visible));
      count.textContent = `${shown} of ${claims.length} ${noun}`;
    };

    form.addEventListener("change", apply);
    form.addEventListener("reset", () => setTimeout(apply));
    form.addEventListener("submit", (event) => event.preventDefault());
    form.hidden = false;
    apply();
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
