"""Every text of every page stands out from what is behind it: a ratio of 4.5 as WCAG 2 computes it, light and dark.

Behind a text lie the backgrounds of its ancestors and, in a drawing, the shapes painted before it. Drawers are opened.
What cannot be used (a disabled button) may be fainter, as WCAG allows.
"""

import pytest

from lamina.pages.site.contents import pages

# ruff: noqa: E501
pytestmark = pytest.mark.browser
PATHS = [*(page.path for page in pages()), "", "catalogue", "errata"]
LEAST = 4.5

# Of every kind of text that is too faint: the ratio, the two colors, the words, and where it stands.
FAINT = """
const least = arguments[0], done = arguments[arguments.length - 1];
const pen = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true }), known = new Map();
const rgba = (color) => {
  if (!known.has(color)) {
    pen.clearRect(0, 0, 1, 1); pen.fillStyle = '#000'; pen.fillStyle = color; pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
    known.set(color, [r, g, b, a / 255]);
  }
  return known.get(color);
};
const over = (top, below, share = 1) => {
  const a = top[3] * share;
  return [...[0, 1, 2].map((i) => a * top[i] + (1 - a) * below[i]), 1];
};
const light = (c) => {
  const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ratio = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const up = (el) => el.assignedSlot || el.parentElement || el.getRootNode().host || null;
const grounds = new Map();
const ground = (el) => {
  if (!el) return rgba(getComputedStyle(document.documentElement).backgroundColor)[3] ? rgba(
    getComputedStyle(document.documentElement).backgroundColor) : [255, 255, 255, 1];
  if (!grounds.has(el)) grounds.set(el, over(rgba(getComputedStyle(el).backgroundColor), ground(up(el))));
  return grounds.get(el);
};
const pictures = new Map();
const loaded = async (image) => {
  const picture = new Image(); picture.src = image.getAttribute('href'); await picture.decode();
  const sheet = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
  sheet.drawImage(picture, 0, 0); pictures.set(image, [sheet, picture.width, picture.height]);
};
// The color behind a place of a drawing, in its own coordinates.
const behind = (svg, text, x, y) => {
  let color = ground(svg.parentElement);
  for (const el of svg.querySelectorAll('rect, circle, polygon, path, image')) {
    if (!(text.compareDocumentPosition(el) & Node.DOCUMENT_POSITION_PRECEDING)) break;
    if (el.localName === 'image') {
      const b = el.getBBox(), [sheet, w, h] = pictures.get(el), i = (x - b.x) / b.width, j = (y - b.y) / b.height;
      if (i >= 0 && i < 1 && j >= 0 && j < 1) {
        const [r, g, b2, a] = sheet.getImageData(Math.floor(i * w), Math.floor(j * h), 1, 1).data;
        color = over([r, g, b2, a / 255], color);
      }
      continue;
    }
    const style = getComputedStyle(el);
    if (style.fill === 'none' || !el.isPointInFill(new DOMPoint(x, y))) continue;
    color = over(rgba(style.fill), color, parseFloat(style.fillOpacity) * parseFloat(style.opacity));
  }
  return color;
};
const seen = (el) => el.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })
  && !el.closest('.katex-mathml, script, style, [disabled], [aria-disabled=true], [data-disabled]');
const words = function* (node) {
  for (const el of node.querySelectorAll('*')) {
    if (el.shadowRoot) yield* words(el.shadowRoot);
    for (const child of el.childNodes) if (child.nodeType === 3 && child.data.trim()) yield [el, child];
  }
};
const share = (el) => { let all = 1; for (let e = el; e; e = up(e)) all *= parseFloat(getComputedStyle(e).opacity); return all; };
(async () => {
  await Promise.all([...document.querySelectorAll('#root svg image')].map(loaded));
  const faint = new Map(), hex = (c) => '#' + c.slice(0, 3).map((v) => Math.round(v).toString(16).padStart(2, '0')).join('');
  let count = 0;
  for (const [el, node] of words(document.body)) {
    if (['title', 'desc'].includes(el.localName) || !seen(el)) continue;
    const range = document.createRange(); range.selectNodeContents(node);
    const box = range.getBoundingClientRect(), svg = el.closest('.lamina-svg svg');
    if (box.width <= 1 || box.height <= 1) continue;
    const style = getComputedStyle(el);
    let worst = [99];
    if (svg) {
      const text = el.closest('text'), toSheet = svg.getScreenCTM().inverse(), b = text.getBBox();
      const own = text.getScreenCTM();
      for (const [i, j] of [[0.5, 0.5], [0.1, 0.5], [0.9, 0.5]]) {
        const p = new DOMPoint(b.x + i * b.width, b.y + j * b.height).matrixTransform(own).matrixTransform(toSheet);
        const back = behind(svg, text, p.x, p.y);
        const fore = over(rgba(style.fill), back, parseFloat(style.fillOpacity) * share(el));
        const found = ratio(fore, back);
        if (found < worst[0]) worst = [found, hex(fore), hex(back)];
      }
    } else {
      const back = ground(el), fore = over(rgba(style.color), back, share(el));
      worst = [ratio(fore, back), hex(fore), hex(back)];
    }
    count += 1;
    if (worst[0] < least) {
      const place = `${el.localName}.${el.getAttribute('class') || ''} in ${up(el)?.localName}.${up(el)?.getAttribute('class') || ''}`;
      const key = `${worst[1]} on ${worst[2]} ${place}`;
      if (!faint.has(key)) faint.set(key, [Math.round(worst[0] * 100) / 100, worst[1], worst[2], node.data.trim().slice(0, 40), place]);
    }
  }
  return [count, [...faint.values()]];
})().then(done, (error) => done(['' + error, []]));
"""


@pytest.mark.parametrize("path", PATHS)
def test_every_text_stands_out(driver, address, path):
    from harness import ready, wait

    driver.get(f"{address}/{path}")
    if path in {page.path for page in pages()}:
        ready(driver)
        driver.execute_script(
            "document.querySelectorAll('#root .lamina-guess input:first-child').forEach((each) => each.click());"
            "document.querySelectorAll('#root details').forEach((each) => { each.open = true; })"
        )
    before = driver.execute_script("return document.documentElement.dataset.theme")
    try:
        for theme in ("light", "dark"):
            if driver.execute_script("return document.documentElement.dataset.theme") != theme:
                driver.execute_script("document.querySelector('[data-do=theme]').click()")
            wait(
                lambda: driver.execute_script("return !document.getAnimations().length"), words="the end of transitions"
            )
            count, faint = driver.execute_async_script(FAINT, LEAST)
            assert isinstance(count, int) and count > 20, count
            assert faint == [], theme
    finally:
        if driver.execute_script("return document.documentElement.dataset.theme") != before:
            driver.execute_script("document.querySelector('[data-do=theme]').click()")


def test_the_measurement_finds_what_is_faint(driver, address):
    """Gray 119 on white has a ratio of 4.48, gray 118 one of 4.54; a shape behind a text of a drawing counts."""
    from harness import ready

    driver.get(f"{address}/ch1/perceptron")
    ready(driver)
    driver.execute_script("""
      const one = (color, markup) => { const p = document.createElement('div'); p.style = `color:${color};background:#fff`;
        p.innerHTML = markup; document.getElementById('root').append(p); };
      one('#777777', 'probe one'); one('#767676', 'probe two');
      one('#000', `<div class="lamina-svg"><svg width="200" height="40" viewBox="0 0 200 40">
        <rect x="0" y="0" width="200" height="40" fill="#000"/><circle cx="50" cy="20" r="19" fill="#fff"/>
        <text x="40" y="24" font-size="12" fill="#444">ok</text><text x="140" y="24" font-size="12" fill="#444">bad</text></svg></div>`);
    """)
    _, faint = driver.execute_async_script(FAINT, LEAST)
    assert [[row[0], row[3]] for row in faint if row[3].startswith("probe") or row[3] in ("ok", "bad")] == [
        [4.48, "probe one"], [2.16, "bad"]
    ]  # fmt: skip
