/** The look of the pages, in light and in dark. A file of its own to the browser: the pages allow no styles inside. */
export const style = `
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
  min-height: 100vh;
  min-height: 100dvh;
  display: grid;
  grid-template-rows: 1fr auto;
  justify-items: center;
  align-items: center;
  padding: 32px 16px 20px;
  background: var(--ground);
  color: var(--text);
  font: 16px/1.5 ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main {
  width: 100%;
  max-width: 420px;
  padding: 32px;
  background: var(--card);
  border: 1px solid var(--line);
  border-radius: 16px;
  box-shadow: 0 1px 2px rgb(0 0 0 / 4%), 0 12px 32px -12px rgb(0 0 0 / 12%);
}
.brand { display: flex; align-items: center; gap: 10px; margin-bottom: 28px; font-weight: 650; letter-spacing: -0.01em; }
.brand svg { width: 26px; height: 26px; color: var(--accent); }
h1 { margin: 0 0 8px; font-size: 23px; line-height: 1.25; font-weight: 650; letter-spacing: -0.02em; overflow-wrap: anywhere; text-wrap: balance; }
p { margin: 0; }
.lead { color: var(--soft); overflow-wrap: anywhere; }
strong { font-weight: 600; color: var(--text); }
form { margin: 24px 0 0; display: grid; gap: 16px; }
form.apart { gap: 10px; }
label { display: grid; gap: 6px; font-size: 14px; font-weight: 550; }
input {
  width: 100%;
  padding: 11px 12px;
  font: inherit;
  font-weight: 400;
  color: inherit;
  background: var(--card);
  border: 1px solid var(--field);
  border-radius: 9px;
}
button, .button {
  width: 100%;
  min-height: 46px;
  padding: 10px 16px;
  display: inline-flex;
  align-items: center;
  justify-content: center;
  gap: 10px;
  font: inherit;
  font-weight: 600;
  text-decoration: none;
  cursor: pointer;
  border-radius: 9px;
  border: 1px solid transparent;
  color: var(--on-accent);
  background: var(--accent);
}
button:hover, .button:hover { background: var(--accent-hover); }
button.plain { color: var(--text); background: transparent; border-color: var(--field); }
button.plain:hover { background: var(--wash); }
button svg { width: 18px; height: 18px; }
:is(a, input, button):focus-visible { outline: 3px solid color-mix(in srgb, var(--accent) 45%, transparent); outline-offset: 2px; }
a { color: var(--accent); text-underline-offset: 3px; }
.or { display: flex; align-items: center; gap: 12px; margin: 24px 0 0; font-size: 13px; color: var(--soft); }
.or::before, .or::after { content: ""; flex: 1; border-top: 1px solid var(--line); }
.notice { margin: 20px 0 0; padding: 12px 14px; font-size: 14px; border-radius: 9px; color: var(--warn); background: var(--warn-wash); }
ul.grants { margin: 24px 0 0; padding: 4px 16px; list-style: none; border: 1px solid var(--line); border-radius: 12px; }
ul.grants li { display: grid; grid-template-columns: 20px 1fr; gap: 12px; padding: 12px 0; font-size: 15px; }
ul.grants li + li { border-top: 1px solid var(--line); }
ul.grants svg { width: 20px; height: 20px; margin-top: 1px; color: var(--accent); }
ul.grants span { display: block; font-size: 14px; color: var(--soft); }
dl { margin: 20px 0 0; display: grid; grid-template-columns: auto 1fr; gap: 6px 16px; font-size: 14px; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; text-align: right; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; }
.foot { margin: 20px 0 0; font-size: 13px; color: var(--soft); }
.foot + .foot { margin-top: 8px; }
footer { padding-top: 20px; font-size: 13px; color: var(--soft); }
@media (max-width: 460px) {
  body { padding: 0; align-items: stretch; background: var(--card); }
  main { max-width: none; padding: 28px 20px; border: 0; border-radius: 0; box-shadow: none; }
  footer { padding: 16px; }
}
`
