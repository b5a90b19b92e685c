// The bar: light or dark, start again, what has been read; and links to a heading that appears after the page.
(() => {
  const root = document.documentElement;
  const dark = () => root.dataset.theme === "dark";
  const apply = (theme) => {
    root.dataset.theme = theme;
    document.cookie = `lamina-theme=${theme}; path=/; max-age=31536000; samesite=strict`;
    const body = document.body;
    if (body.classList.contains("light") || body.classList.contains("dark")) {
      for (const name of ["light", "dark"]) {
        body.classList.toggle(name, name === theme);
        body.classList.toggle(`${name}-theme`, name === theme);
      }
      body.dataset.theme = theme;
    }
  };
  const read = () => { try { return JSON.parse(localStorage.getItem("lamina-read")) || {}; } catch { return {}; } };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    if (button?.dataset.do === "theme") apply(dark() ? "light" : "dark");
    if (button?.dataset.do === "reset") location.replace(location.pathname + location.hash);
    const menu = document.querySelector(".lamina-bar details[open]");
    if (menu && !menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    const menu = document.querySelector(".lamina-bar details[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); }
  });

  // The first view goes when the live page has as many sections and panels as it has.
  const still = document.querySelector(".lamina-still");
  if (still) {
    const parts = (node) => [...node.querySelectorAll(".lamina-lab, .lamina-section, .lamina-panel, .lamina-try")];
    const wanted = parts(still).length, live = document.getElementById("root");
    let late = 0;
    // What the reader looks at stays where it is, whatever has grown above it.
    const swap = () => {
      if (!still.isConnected) return;
      const before = parts(still), place = before.findIndex((part) => part.getBoundingClientRect().bottom > 60);
      const top = place < 0 ? 0 : before[place].getBoundingClientRect().top;
      still.remove(); watch.disconnect(); clearTimeout(late);
      const now = parts(live)[place];
      if (now && scrollY > 0) scrollBy({ top: now.getBoundingClientRect().top - top, behavior: "instant" });
      document.dispatchEvent(new Event("lamina-live"));
    };
    const watch = new MutationObserver(() => {
      const here = parts(live).length;
      if (here >= wanted) requestAnimationFrame(swap);
      else if (here && !late) late = setTimeout(swap, 8000);
    });
    watch.observe(live, { childList: true, subtree: true });
  }

  const page = document.body.dataset.page;
  if (page) {
    const seen = read();
    const note = (share) => {
      if (share > (seen[page] || 0)) {
        seen[page] = share;
        localStorage.setItem("lamina-read", JSON.stringify({ ...read(), [page]: share }));
      }
    };
    note(0.05);
    addEventListener("scroll", () => {
      if (!document.querySelector(".lamina-section")) return;
      note(Math.min(1, (scrollY + innerHeight + 40) / root.scrollHeight));
    }, { passive: true });
    if (location.hash) {
      const wanted = decodeURIComponent(location.hash.slice(1));
      const watch = new MutationObserver(() => {
        const target = document.getElementById(wanted);
        if (target) { watch.disconnect(); setTimeout(() => target.scrollIntoView(), 300); }
      });
      watch.observe(document.body, { childList: true, subtree: true });
    }
  }
  const marks = document.querySelectorAll("[data-progress]");
  if (marks.length) {
    const seen = read();
    let done = 0;
    for (const mark of marks) {
      const share = seen[mark.dataset.progress] || 0;
      if (share > 0.95) done += 1;
      mark.style.setProperty("--v", share);
      mark.textContent = share > 0.95 ? "read" : share > 0 ? "begun" : "";
    }
    const sum = document.querySelector("[data-sum]");
    if (sum && Object.keys(seen).length) sum.textContent = `${done} of ${marks.length} pages read in this browser.`;
  }
})();
