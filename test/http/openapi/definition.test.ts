import { readFileSync } from "node:fs"
import { dirname, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const root = fileURLToPath(new URL("../../../", import.meta.url))

/** What a module imports when it runs: types are gone by then. */
const importsOf = (path: string): ReadonlyArray<string> =>
  [...readFileSync(path, "utf8").matchAll(/^(?:import|export)\s+(?!type\b)[^"]*?from "([^"]+)"|^import "([^"]+)"/gm)]
    .map(([, from, bare]) => from ?? bare)
    .filter((specifier) => specifier !== undefined)

/** The files that `entry` imports, itself included, and the packages. */
const reach = (entry: string) => {
  const files = new Set<string>()
  const packages = new Set<string>()
  const visit = (path: string): void => {
    if (files.has(path)) return
    files.add(path)
    for (const specifier of importsOf(path)) {
      if (specifier.startsWith(".")) visit(resolve(dirname(path), specifier))
      else packages.add(specifier)
    }
  }
  visit(resolve(root, entry))
  return { files: [...files].map((file) => relative(root, file)), packages: [...packages] }
}

describe("the API's definition", () => {
  const { files, packages } = reach("src/http/Api.ts")

  it("imports nothing of the server: no service, layer, handler, Node module or public-suffix list", () => {
    assert.isAbove(files.length, 20)
    for (const file of files) assert.notMatch(file, /\/(?:services|layers|handlers|middleware|mcp|cli)\//, file)
    for (const name of packages) assert.match(name, /^effect(?:\/|$)/)
  })

  it("the walk sees what the server imports", () => {
    const server = reach("src/process/Server.ts")
    assert.includeMembers(server.packages, ["tldts", "node:http"])
    assert.isTrue(server.files.some((file) => file.startsWith("src/services/")))
  })
})
