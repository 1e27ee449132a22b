// SPDX-License-Identifier: Apache-2.0
// Excerpts for the results of the search, from the texts of all pages: a page that is a file may not read other pages.
(() => {
  const LENGTH = 240;
  const start = () => {
    const list = document.getElementById("search-results");
    if (!list) return;
    const root = document.documentElement.dataset.content_root;
    const words = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/\s+/).filter(Boolean);

    const excerpt = (text) => {
      const lower = text.toLowerCase();
      const places = words.map((word) => lower.indexOf(word)).filter((place) => place >= 0);
      const near = Math.max(0, (places.length ? Math.min(...places) : 0) - LENGTH / 3);
      // whole words
      const begin = near ? text.indexOf(" ", near) + 1 : 0;
      const end = begin + LENGTH < text.length ? text.lastIndexOf(" ", begin + LENGTH) : text.length;
      return `${begin ? "\u2026 " : ""}${text.slice(begin, end)}${end < text.length ? " \u2026" : ""}`;
    };
    const add = (item) => {
      const link = item.querySelector("a");
      if (!link || item.querySelector(".rl-excerpt")) return;
      const page = new URL(link.href).pathname;
      const top = new URL(root, location.href).pathname;
      const text = (window.RL_TEXTS || {})[decodeURI(page.slice(top.length))];
      if (!text) return;
      const paragraph = document.createElement("p");
      paragraph.className = "rl-excerpt";
      paragraph.textContent = excerpt(text);
      item.append(paragraph);
    };
    const script = document.createElement("script");
    script.src = new URL("_static/texts.js", new URL(root, location.href));
    script.onload = () => {
      list.querySelectorAll("li").forEach(add);
      new MutationObserver(() => list.querySelectorAll("li").forEach(add)).observe(list, { childList: true, subtree: true });
    };
    document.head.append(script);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
