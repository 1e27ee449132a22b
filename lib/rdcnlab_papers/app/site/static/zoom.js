// SPDX-License-Identifier: Apache-2.0
// Pictures that can be zoomed: a click shows one on the whole screen, the next click at its own size. Without JavaScript
// nothing changes: the figures of papers are links to their files.
(() => {
  // smaller ones have nothing to zoom
  const LEAST_PX = 200;
  let dialog;
  const made = () => {
    if (dialog) return dialog;
    dialog = document.createElement("dialog");
    dialog.className = "rl-zoomed";
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "Close";
    const room = document.createElement("div");
    room.tabIndex = 0;
    const picture = document.createElement("img");
    room.append(picture);
    dialog.append(close, room);
    document.body.append(dialog);
    close.addEventListener("click", () => dialog.close());
    picture.addEventListener("click", (event) => {
      const box = picture.getBoundingClientRect();
      const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      dialog.classList.toggle("rl-whole");
      // what was clicked stays in view
      room.scrollTo(x * picture.offsetWidth - room.clientWidth / 2, y * picture.offsetHeight - room.clientHeight / 2);
    });
    dialog.addEventListener("click", (event) => { if (event.target === dialog || event.target === room) dialog.close(); });
    return dialog;
  };
  const show = (image) => {
    const picture = made().querySelector("img");
    picture.src = image.currentSrc || image.src;
    picture.alt = image.alt;
    dialog.classList.remove("rl-whole");
    dialog.showModal();
  };
  const prepare = (image) => {
    if (image.closest(".rl-tile") || Math.max(image.naturalWidth, image.width) < LEAST_PX) return;
    let link = image.closest("a");
    // a picture that leads to another page stays a link
    if (link && !/\.(png|svg|jpg)$/.test(link.pathname)) return;
    if (!link) {
      link = document.createElement("a");
      link.href = image.currentSrc || image.src;
      image.replaceWith(link);
      link.append(image);
    }
    link.classList.add("rl-zoom");
    link.addEventListener("click", (event) => {
      // with a key a browser opens the file in another tab
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      show(image);
    });
  };
  const start = () => {
    for (const image of document.querySelectorAll("main img"))
      if (image.complete && image.naturalWidth) prepare(image);
      else image.addEventListener("load", () => prepare(image), { once: true });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
