import { mkdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { batch, ledger, providers, service } from "./dashboards/boards.ts"
import { toGrafana } from "./dashboards/grafana.ts"

/** The dashboards as JSON, by file name. */
export const files: Readonly<Record<string, string>> = Object.fromEntries(
  [service, providers, ledger, batch].map((board) => [
    `${board.uid}.json`,
    `${JSON.stringify(toGrafana(board), null, 2)}\n`
  ])
)

if (import.meta.main) {
  const directory = fileURLToPath(new URL("../otel/grafana/dashboards/", import.meta.url))
  mkdirSync(directory, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(directory + name, text)
}
