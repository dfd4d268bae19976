/** Colours, type, links and focus of every page for people, in light and in dark. */
export const theme = `
:root {
  color-scheme: light dark;
  --ground: light-dark(#f4f3f0, #131211);
  --card: light-dark(#ffffff, #1c1b19);
  --line: light-dark(#e3e0da, #34322e);
  --field: light-dark(#c9c5bd, #4b4842);
  --text: light-dark(#1d1b18, #f2f0ec);
  --soft: light-dark(#66625b, #a8a39a);
  --accent: light-dark(#1f5f4f, #7cc4ae);
  --on-accent: light-dark(#ffffff, #10211c);
  --accent-hover: light-dark(#184c3f, #93d2be);
  --wash: light-dark(#f7f6f3, #232220);
  --warn: light-dark(#9b2c1f, #f0a196);
  --warn-wash: light-dark(#fdf1ef, #34211e);
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0;
  background: var(--ground);
  color: var(--text);
  font: 16px/1.5 ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
p { margin: 0; }
a { color: var(--accent); text-underline-offset: 3px; }
strong { font-weight: 600; color: var(--text); }
:is(a, input, button, summary, [tabindex]):focus-visible { outline: 3px solid color-mix(in srgb, var(--accent) 45%, transparent); outline-offset: 2px; }
.brand { display: flex; align-items: center; gap: 10px; font-weight: 650; letter-spacing: -0.01em; }
.brand svg { width: 26px; height: 26px; color: var(--accent); }
`
