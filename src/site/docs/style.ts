import { theme } from "../html/theme.ts"

export const style = `${theme}
html { scroll-padding-top: 72px; }
body { --mono: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; background: var(--card); line-height: 1.55; }
.skip { position: absolute; left: -999px; top: 8px; z-index: 3; padding: 8px 14px; background: var(--card); border-radius: 8px; }
.skip:focus { left: 16px; }
header { position: sticky; top: 0; z-index: 2; height: 56px; padding: 0 24px; display: flex; align-items: center; gap: 14px; background: var(--card); border-bottom: 1px solid var(--line); }
header .brand { color: var(--text); text-decoration: none; }
.place { padding-left: 14px; border-left: 1px solid var(--line); font-size: 14px; color: var(--soft); }
.download { margin-left: auto; }
.download, .home { font-size: 14px; font-weight: 550; }
.guide p, .guide ul { max-width: 72ch; margin: 0 0 14px; }
.guide ul { padding-left: 20px; }
.guide li { margin-bottom: 4px; }
.guide figure { max-width: 860px; }
@media (max-width: 480px) { .place { display: none; } header { padding: 0 16px; } }
code, pre { font-family: var(--mono); font-size: .875em; }
code { overflow-wrap: anywhere; }
p code, dd code, li code { padding: 1px 5px; background: var(--wash); border: 1px solid var(--line); border-radius: 5px; }
nav { padding: 12px 16px; border-bottom: 1px solid var(--line); font-size: 14px; }
nav summary { padding: 6px 0; font-weight: 600; cursor: pointer; }
nav ul { margin: 0; padding: 0; list-style: none; }
nav ul ul { margin: 2px 0 8px; }
nav li a { display: flex; align-items: center; gap: 8px; padding: 5px 10px; border-radius: 7px; color: var(--text); font-weight: 550; text-decoration: none; }
nav li li a { justify-content: space-between; color: var(--soft); font-weight: 400; }
nav a:hover { background: var(--wash); color: var(--text); }
nav .method { font-size: 10px; }
main { min-width: 0; padding: 28px 16px 80px; outline: 0; }
section + section { margin-top: 56px; padding-top: 48px; border-top: 1px solid var(--line); }
h1, h2, h3 { line-height: 1.25; font-weight: 650; letter-spacing: -0.02em; overflow-wrap: anywhere; text-wrap: balance; }
h1 { margin: 0 0 8px; font-size: 34px; }
h2 { margin: 0 0 8px; font-size: 26px; }
h3 { margin: 0 0 8px; font-size: 19px; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { text-decoration: underline; }
section > p, .lead, .columns p { max-width: 72ch; }
section > p, .lead { color: var(--soft); }
.lead { font-size: 18px; }
dl { margin: 24px 0 0; display: grid; gap: 4px 20px; font-size: 15px; }
dt { color: var(--soft); }
dd { margin: 0 0 8px; overflow-wrap: anywhere; }
article { margin-top: 48px; }
article + article { padding-top: 40px; border-top: 1px solid var(--line); }
#schemas article { padding: 0; border: 0; }
.call { margin-bottom: 16px; display: flex; flex-wrap: wrap; align-items: center; gap: 10px; font-size: 15px; }
.call code { padding: 0; border: 0; background: none; font-size: 15px; }
.method { padding: 2px 7px; border-radius: 6px; font: 600 12px/1.4 var(--mono); color: var(--accent); background: color-mix(in srgb, var(--accent) 13%, transparent); }
.credentials { margin: 14px 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: 8px; list-style: none; font-size: 13px; }
.credentials li { padding: 2px 10px; border: 1px solid var(--line); border-radius: 99px; }
.credentials a { color: inherit; text-decoration: none; }
.credentials a:hover { text-decoration: underline; }
table { width: 100%; margin-top: 24px; border-collapse: collapse; font-size: 15px; table-layout: fixed; }
caption { padding-bottom: 8px; text-align: left; font-weight: 600; }
section > table caption, #schemas caption { position: absolute; width: 1px; height: 1px; padding: 0; overflow: hidden; clip-path: inset(50%); }
thead th { padding: 8px 12px 8px 0; border-bottom: 1px solid var(--line); font-size: 12px; font-weight: 550; color: var(--soft); }
thead th:first-child { width: 38%; }
.responses thead th:first-child { width: 72px; }
th, td { text-align: left; vertical-align: top; }
tbody th, td { padding: 11px 12px 11px 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }
td { padding-right: 0; }
tbody th { font-weight: 400; }
tbody th > code { font-weight: 600; }
tr:target { background: var(--wash); }
.type { display: block; font-size: 13px; color: var(--soft); }
p .type { display: inline; }
.flag { display: inline-block; margin-top: 3px; font-size: 12px; font-weight: 600; color: var(--warn); }
.rule { margin: 3px 0 0; font-size: 13.5px; color: var(--soft); }
p + .rule, .rule + .rule { margin-top: 5px; }
summary { cursor: pointer; }
details.rule p { margin-top: 6px; line-height: 1.9; }
.status { font: 600 13px/1.8 var(--mono); }
.s2 { color: var(--accent); }
.s4, .s5 { color: var(--warn); }
.samples { min-width: 0; margin-top: 24px; }
figure { margin: 0 0 16px; border: 1px solid var(--line); border-radius: 12px; background: var(--wash); overflow: hidden; }
figcaption { padding: 8px 14px; border-bottom: 1px solid var(--line); font-size: 13px; font-weight: 550; color: var(--soft); }
pre { margin: 0; padding: 14px; max-height: 480px; overflow: auto; font-size: 13px; line-height: 1.6; white-space: pre-wrap; overflow-wrap: anywhere; }
pre code { font-size: inherit; }
@media (min-width: 640px) {
  main { padding: 40px 32px 96px; }
  dl { grid-template-columns: max-content 1fr; }
  thead th:first-child { width: 32%; }
}
@media (min-width: 1000px) {
  .layout { display: grid; grid-template-columns: 280px minmax(0, 1fr); max-width: 1560px; margin: 0 auto; }
  nav { position: sticky; top: 56px; height: calc(100vh - 56px); overflow-y: auto; padding: 24px 14px; border-bottom: 0; border-right: 1px solid var(--line); }
  main { padding: 48px 48px 120px; }
  section > table, #schemas table { max-width: 860px; }
  @supports selector(details::details-content) {
    nav summary { display: none; }
    nav details::details-content { content-visibility: visible; display: block; }
  }
}
@media (min-width: 1300px) {
  .columns { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 460px); gap: 48px; }
  .samples { position: sticky; top: 80px; align-self: start; margin-top: 0; }
}
@media print { header, nav { display: none; } }
.tool { margin-inline-start: 6px; min-height: 26px; padding: 1px 8px; font: inherit; font-size: 12px; color: inherit; background: transparent; border: 1px solid var(--field); border-radius: 6px; cursor: pointer; }
.tool[aria-pressed="true"] { border-color: var(--accent); color: var(--accent); }
figcaption { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 0; }
figcaption .tool:first-of-type { margin-inline-start: auto; }
output { display: block; margin-top: 10px; font-size: 13px; }
nav input[type="search"] { width: 100%; min-height: 34px; margin: 4px 0 8px; padding: 4px 10px; font: inherit; font-size: 13px; color: inherit; background: var(--card); border: 1px solid var(--field); border-radius: 8px; }
`
