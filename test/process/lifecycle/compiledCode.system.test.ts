import { execFileSync } from "node:child_process"
import { cpSync, existsSync, globSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { temporaryDirectory } from "../../support/processes/Spawned.ts"

const root = fileURLToPath(new URL("../../../", import.meta.url))

/** An installation with the sources of this checkout, and packages of which there is Node alone. */
const installation = Effect.map(temporaryDirectory, (directory) => {
  cpSync(join(root, "bin"), join(directory, "bin"), { recursive: true })
  mkdirSync(join(directory, "node_modules/.bin"), { recursive: true })
  symlinkSync(process.execPath, join(directory, "node_modules/.bin/node"))
  symlinkSync(join(root, "src"), join(directory, "src"))
  return {
    packages: join(directory, "node_modules"),
    cache: join(directory, "node_modules/.cache/quarry"),
    version: (env: Record<string, string> = {}) =>
      execFileSync(join(directory, "bin/quarry"), ["--version"], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, ...env }
      })
  }
})

describe("compiled code", () => {
  it.live("is kept beside the packages, for their owner alone", () =>
    Effect.gen(function* () {
      const { cache, version } = yield* installation
      version()
      assert.strictEqual(statSync(cache).mode & 0o777, 0o700)
      assert.isAbove(globSync(`${cache}/*/*`).length, 100)
    })
  )

  it.live("is kept nowhere else than the operator says", () =>
    Effect.gen(function* () {
      const { cache, packages, version } = yield* installation
      const other = join(packages, "other")
      version({ NODE_COMPILE_CACHE: other })
      assert.isTrue(existsSync(other))
      version({ NODE_COMPILE_CACHE: "" })
      assert.isFalse(existsSync(cache))
    })
  )

  it.live("is not needed: a command runs where it cannot be written", () =>
    Effect.gen(function* () {
      const { packages, version } = yield* installation
      writeFileSync(join(packages, ".cache"), "")
      assert.include(version(), "0.1.0")
    })
  )
})
