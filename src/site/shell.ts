import { html } from "../domain/html.ts"
import type { TargetLabels } from "../domain/search/TargetLabels.ts"
import { mark } from "./html/pages.ts"

export interface Shell {
  readonly scriptPath: string
  /** Scripts that the first script imports, which the browser fetches along with it. */
  readonly importPaths: ReadonlyArray<string>
  readonly stylePath: string
  readonly hasPasswords: boolean
  readonly deliversEmails: boolean
  readonly targetLabels: TargetLabels
  /** The origin of `BASE_URL`. */
  readonly origin: string
}

export const shellOf = ({
  deliversEmails,
  hasPasswords,
  importPaths,
  origin,
  scriptPath,
  stylePath,
  targetLabels
}: Shell): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Quarry</title>
<link rel="icon" type="image/svg+xml" href="/favicon.ico">
<link rel="stylesheet" href="${stylePath}">
${importPaths.map((path) => html`<link rel="modulepreload" href="${path}">\n`)}<script type="module" src="${scriptPath}"></script>
</head>
<body class="app" data-passwords="${String(hasPasswords)}" data-mail="${String(deliversEmails)}" data-scheme="${new URL(origin).protocol.slice(0, -1)}" data-host="${new URL(origin).host}" data-targets="${JSON.stringify(targetLabels)}">
<div id="dashboard"><div class="bar starting"><span class="brand">${mark}<span>Quarry</span></span></div></div>
<noscript>
<main class="plain"><h1>The dashboard needs JavaScript</h1>
<p>Everything that it does is a route of the API too: see the <a href="/docs">reference</a>.</p></main>
</noscript>
</body>
</html>
`.text
