import { readdirSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"

const folder = new URL("../../../src/", import.meta.url)

const textsOf = (ending: string, comments: RegExp): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(new URL(name, folder), "utf8").replaceAll(comments, ""))

/** Each SQL function with its text, and the statements outside of functions, such as triggers. */
const parse = (files: ReadonlyArray<string>) => {
  const definition = /^create (?:or replace )?function (\w+)([\s\S]*?\$\$[\s\S]*?\$\$)/gm
  const functions = new Map(
    files.flatMap((text) => [...text.matchAll(definition)].map(([, name = "", body = ""]) => [name, body] as const))
  )
  return { functions, others: files.map((text) => text.replaceAll(definition, "")) }
}

describe("SQL functions", () => {
  it("are each called by the code, or by a function or a trigger that is", () => {
    const { functions, others } = parse(textsOf(".sql", /--.*$/gm))
    assert.isAbove(functions.size, 20)
    const called = new Set<string>()
    const follow = (text: string): void => {
      for (const [, name = ""] of text.matchAll(/(\w+)\(/g)) {
        const body = functions.get(name)
        if (body === undefined || called.has(name)) continue
        called.add(name)
        follow(body)
      }
    }
    for (const text of [...others, ...textsOf(".ts", /^\s*(\/\/|\/?\*).*$/gm)]) follow(text)
    assert.deepStrictEqual(
      [...functions.keys()].filter((name) => !called.has(name)),
      []
    )
  })

  it("are not compiled by Postgres where a plan is forbidden, because a forbidden plan costs enough for it", () => {
    const { functions } = parse(textsOf(".sql", /--.*$/gm))
    const forbidding = [...functions].filter(([, text]) => text.includes("set enable_seqscan = off"))
    assert.isAbove(forbidding.length, 3)
    assert.deepStrictEqual(
      forbidding.filter(([, text]) => !text.includes("set jit = off")).map(([name]) => name),
      []
    )
  })
})
