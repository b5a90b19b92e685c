// Render every formula with the KaTeX that lies beside this file; without JavaScript its TeX is what is seen.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".formula"))
    katex.render(place.textContent, place, { displayMode: place.tagName === "DIV", throwOnError: false });
});
