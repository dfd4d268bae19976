import { assert, describe, it } from "@effect/vitest"
import { Redacted } from "effect"
import { type Greeting, greetingLines } from "../../../src/process/lifecycle/Greeting.ts"

const access = {
  key: Redacted.make(`sk_live_${"a".repeat(49)}`),
  link: Redacted.make(`http://localhost:3000/oauth/confirm?token=${"0".repeat(32)}`)
}

const first: Greeting = {
  bound: "http://127.0.0.1:3000",
  baseUrl: "http://localhost:3000",
  access,
  store: { dataDir: ".quarry", embeddedSync: "on" },
  searchesOnlyIndex: true
}

const wide = { columns: 80, hasColors: true }
const curl = `curl -H 'Authorization: Bearer ${Redacted.value(access.key)}' 'http://localhost:3000/v1/query?query=http+caching'`

// biome-ignore lint/suspicious/noControlCharactersInRegex: colors begin with this character.
const uncolored = (line: string) => line.replaceAll(/\u001b\[\d+m/g, "")

describe("the greeting of a start", () => {
  it("is at most 10 lines with address, dashboard, key, command and how to stop, in a frame of 80 columns", () => {
    const lines = greetingLines(first, wide).map(uncolored)
    assert.isAtMost(lines.length, 10)
    for (const line of lines.slice(0, -1)) assert.isAtMost(line.length, 80)
    assert.match(lines[0] ?? "", /^╭─+╮$/)
    assert.strictEqual(lines.at(-1), curl)
    const text = lines.join("\n")
    assert.include(text, "QUARRY_PROVIDERS=examples/providers/open.json npm start")
    for (const part of [first.baseUrl, Redacted.value(access.link), Redacted.value(access.key), "Ctrl-C", ".quarry"]) {
      assert.include(text, part)
    }
  })

  it("has no frame and no color where the terminal is narrow or has no colors", () => {
    for (const terminal of [
      { columns: 79, hasColors: false },
      { columns: 60, hasColors: true }
    ]) {
      const lines = greetingLines(first, terminal)
      assert.deepStrictEqual(lines, lines.map(uncolored))
      assert.notInclude(lines.join("\n"), "│")
    }
  })

  it("says what a power cut would do to the data", () => {
    const says = (embeddedSync: "on" | "off") =>
      greetingLines({ ...first, store: { dataDir: ".quarry", embeddedSync } }, { columns: 60, hasColors: false })
    assert.include(says("on"), "Data is in .quarry. It survives a killed process and a power cut.")
    assert.include(
      says("off"),
      "Data is in .quarry. It survives a killed process, but not a power cut (EMBEDDED_SYNC is off)."
    )
  })

  it("later starts name the dashboard and no secret, and the port that was bound where it is another", () => {
    const later = greetingLines(
      { ...first, access: undefined, store: undefined, searchesOnlyIndex: false },
      { columns: 80, hasColors: false }
    )
    assert.deepStrictEqual(later, [
      "Quarry is ready: http://localhost:3000. Ctrl-C stops it.",
      "Dashboard: http://localhost:3000/dashboard"
    ])
    const [proxied] = greetingLines(
      { ...first, baseUrl: "https://search.example.com" },
      { columns: 80, hasColors: false }
    )
    assert.include(proxied ?? "", "https://search.example.com (listens at http://127.0.0.1:3000)")
  })
})
