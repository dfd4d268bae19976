import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { freePort } from "../../support/servers/freePort.ts"

const program = fileURLToPath(new URL("../../../bin/quarry-server", import.meta.url))

const hasTerminal = (() => {
  try {
    return execFileSync("script", ["--version"], { encoding: "utf8" }).includes("util-linux")
  } catch {
    return false
  }
})()

/** All lines of a first start on a terminal of 100 columns, up to its last one. */
const linesOf = async (env: Record<string, string>): Promise<ReadonlyArray<string>> => {
  const ports = { PORT: `${await freePort()}`, ADMIN_PORT: "0", DATA_DIR: "memory:" }
  const child = spawn("script", ["-qefc", `stty cols 100; exec ${program}`, "/dev/null"], {
    env: { PATH: process.env.PATH, TERM: "xterm-256color", ...ports, ...env },
    stdio: ["pipe", "pipe", "inherit"]
  })
  let text = ""
  try {
    for await (const chunk of child.stdout.setEncoding("utf8")) {
      text += chunk
      if (/curl -H .*\r?\n/.test(text)) break
    }
  } finally {
    // The server ends with its terminal.
    child.kill("SIGKILL")
    await once(child, "exit")
  }
  return text.trimEnd().split(/\r?\n/)
}

const isGreeting = (line: string): boolean => !/^(\S*m)?\d\d:\d\d:\d\d/.test(line)

describe.skipIf(!hasTerminal)("npm start on a terminal", () => {
  it("says at once that it starts, and greets in a frame, in at most 12 lines", async () => {
    const lines = (await linesOf({})).filter(isGreeting)
    assert.isAtMost(lines.length, 12)
    assert.strictEqual(lines[0], "Quarry is starting.")
    assert.match(lines[1] ?? "", /╭─+╮/)
    assert.include(lines[1] ?? "", "\u001b[32m")
    assert.match(lines.at(-1) ?? "", /^curl -H 'Authorization: Bearer sk_live_\w+' '\S+'$/)
  })

  it("has neither frame nor color under NO_COLOR", async () => {
    const lines = (await linesOf({ NO_COLOR: "1" })).filter(isGreeting)
    assert.notMatch(lines.join("\n"), /[╭│]/)
    assert.include(lines.join("\n"), "Quarry is ready: ")
  })
})
