import { theme } from "./theme.ts"

/** Served as a file, because the pages' policy forbids inline styles. */
export const style = `${theme}
body {
  min-height: 100vh;
  min-height: 100dvh;
  display: grid;
  grid-template-rows: 1fr auto;
  justify-items: center;
  align-items: center;
  padding: 32px 16px 20px;
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
.brand { margin-bottom: 28px; }
h1 { margin: 0 0 8px; font-size: 23px; line-height: 1.25; font-weight: 650; letter-spacing: -0.02em; overflow-wrap: anywhere; text-wrap: balance; }
.lead { color: var(--soft); overflow-wrap: anywhere; }
form { margin: 24px 0 0; display: grid; gap: 16px; }
form.apart { gap: 10px; }
label { display: grid; gap: 6px; font-size: 14px; font-weight: 550; }
input {
  width: 100%;
  min-height: 46px;
  padding: 11px 12px;
  font: inherit;
  font-weight: 400;
  color: inherit;
  background: var(--card);
  border: 1px solid light-dark(#8b867c, #6d6960);
  border-radius: 8px;
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
button.plain, .button.plain { color: var(--text); background: transparent; border-color: var(--field); }
button.plain:hover, .button.plain:hover { background: var(--wash); }
button svg { width: 18px; height: 18px; }
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
.buttons { margin: 24px 0 0; display: grid; gap: 10px; }
[data-passkey] { margin-top: 16px; }
[hidden] { display: none !important; }
.hidden { position: absolute; width: 1px; min-height: 0; height: 1px; padding: 0; border: 0; opacity: 0; pointer-events: none; }
form .foot { margin-top: -8px; }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; }
.foot { margin: 20px 0 0; font-size: 13px; color: var(--soft); }
.foot + .foot { margin-top: 8px; }
footer { padding-top: 20px; font-size: 13px; }
footer a { color: var(--soft); }
@media (max-width: 460px) {
  body { padding: 0; align-items: stretch; background: var(--card); }
  main { max-width: none; padding: 28px 20px; border: 0; border-radius: 0; box-shadow: none; }
  footer { padding: 16px; }
}
`
