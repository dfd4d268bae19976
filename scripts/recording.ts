import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/*
 * Generates docs/images/start.svg, the recording in README.md: a first start and a first search in a real terminal
 * (`script` of util-linux), with the original time of each line. Secrets are replaced. The server runs in a separate
 * folder, so that it does not use the developer's `.quarry`.
 */

const root = join(import.meta.dirname, "..")
const port = 3480
const columns = 96
const lineHeight = 19
const characterWidth = 8.43
const typedMs = 700
const pauseMs = 2_500
const maxResponseLines = 14

/** Longer waits are cut, as recorders of terminals do, because a busy machine says nothing about Quarry. */
const maxWaitMs = 2_000

interface Line {
  readonly atMs: number
  readonly text: string
}

/** Keeps the width of a secret, so that the frame around it fits. */
const withoutSecrets = (text: string): string =>
  text
    .replaceAll(/sk_live_\w+/g, (key) => "sk_live_".padEnd(key.length, "•"))
    .replaceAll(/token=\w+/g, (token) => "token=".padEnd(token.length, "•"))

// biome-ignore lint/suspicious/noControlCharactersInRegex: colors begin with this character.
const withoutColors = (text: string): string => text.replaceAll(/\u001b\[[\d;]*m/g, "")

/** The lines of a start until it prints its curl command, and that command. */
const readStart = (terminal: ChildProcess): Promise<{ readonly lines: ReadonlyArray<Line>; readonly curl: string }> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now()
    const lines: Array<Line> = []
    let rest = ""
    terminal.stdout?.setEncoding("utf8").on("data", (chunk: string) => {
      const parts = (rest + chunk).split(/\r?\n/)
      rest = parts.pop() ?? ""
      for (const text of parts.map(withoutColors)) {
        lines.push({ atMs: performance.now() - startedAt, text })
        if (text.startsWith("curl ")) resolve({ lines, curl: text })
      }
    })
    terminal.once("exit", () => reject(new Error(`npm start ended: ${lines.map(({ text }) => text).join("\n")}`)))
  })

/** Typed lines and their output on one timeline. */
const search = async (curl: string, fromMs: number): Promise<ReadonlyArray<Line>> => {
  const [, key = "", address = ""] = /Bearer (\w+)' '([^']+)'/.exec(curl) ?? []
  const startedAt = performance.now()
  const response = await fetch(address, { headers: { authorization: `Bearer ${key}` } })
  const body = JSON.stringify(await response.json(), null, 2).split("\n")
  const answeredMs = fromMs + typedMs + performance.now() - startedAt
  const shown = [...body.slice(0, maxResponseLines), "  …"]
  return [{ atMs: fromMs, text: `$ ${curl} | jq` }, ...shown.map((text) => ({ atMs: answeredMs, text }))]
}

const withoutLongWaits = (lines: ReadonlyArray<Line>): ReadonlyArray<Line> => {
  let saidMs = 0
  let shownMs = 0
  return lines.map(({ atMs, text }) => {
    shownMs += Math.min(atMs - saidMs, maxWaitMs)
    saidMs = atMs
    return { atMs: shownMs, text }
  })
}

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

/** Wraps a long line like a terminal. */
const wrapped = ({ atMs, text }: Line): ReadonlyArray<Line> =>
  text.length <= columns
    ? [{ atMs, text }]
    : [{ atMs, text: text.slice(0, columns) }, ...wrapped({ atMs, text: text.slice(columns) })]

const drawn = (lines: ReadonlyArray<Line>): string => {
  const width = Math.ceil(columns * characterWidth + 32)
  const height = lines.length * lineHeight + 44
  const rows = lines.map(({ atMs, text }, index) => {
    const color = text.startsWith("$") ? "#7cc4ae" : "#e6e6e6"
    const at = `style="animation-delay:${Math.round(atMs)}ms" x="16" y="${32 + index * lineHeight}" fill="${color}"`
    return `<text ${at}>${escaped(text)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal: npm start, its greeting, and a first search">
<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;white-space:pre;opacity:0;animation:a 1ms forwards}@keyframes a{to{opacity:1}}@media(prefers-reduced-motion:reduce){text{animation-delay:0s!important}}</style>
<rect width="100%" height="100%" rx="8" fill="#1b1f1e"/>
${rows.join("\n")}
</svg>
`
}

const data = mkdtempSync(join(tmpdir(), "quarry-recording-"))
const terminal = spawn(
  "script",
  ["-qefc", `stty cols ${columns} rows 40; exec ${root}/bin/quarry-server`, "/dev/null"],
  {
    cwd: data,
    env: {
      ...{ PATH: process.env.PATH, HOME: data, TERM: "xterm-256color" },
      ...{ PORT: `${port}`, ADMIN_PORT: "0" }
    },
    stdio: ["pipe", "pipe", "inherit"]
  }
)
try {
  const { curl, lines } = await readStart(terminal)
  const readyMs = lines.at(-1)?.atMs ?? 0
  const all = [{ atMs: 0, text: "$ npm start" }, ...lines, ...(await search(curl, readyMs + pauseMs))]
  const shown = all.map(({ atMs, text }) => ({ atMs, text: withoutSecrets(text) })).flatMap(wrapped)
  writeFileSync(join(root, "docs/images/start.svg"), drawn(withoutLongWaits(shown)))
} finally {
  // Closing the terminal also ends the server.
  terminal.kill("SIGKILL")
  await once(terminal, "exit").catch(() => undefined)
  rmSync(data, { recursive: true, force: true })
}
