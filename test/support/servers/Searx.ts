import { spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { freePort, temporaryDirectory } from "../processes/Spawned.ts"

/** Debian's package is installed for Debian's Python, even if another one is first on the PATH. */
const python = "/usr/bin/python3"

const findModule = "import importlib.util as u, sys; sys.exit(u.find_spec('searx') is None)"
const installed = spawnSync(python, ["-c", findModule]).status === 0
if (!installed && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error("QUARRY_REQUIRE_SERVICES=1, but there is no searx for /usr/bin/python3: apt-get install searx")
}

/** A group of tests that start a searx. If it is missing, it is skipped with a message. */
export const describeWithSearx = (name: string, tests: () => void): void => {
  const title = installed ? name : `${name} (needs searx for /usr/bin/python3: apt-get install searx)`
  describe.skipIf(!installed)(title, tests)
}

/**
 * Starts a real instance whose engines `steady` and `blocked` request these paths on that port. Returns its address.
 */
export const searx = Effect.fnUntraced(function* (enginePort: string) {
  const port = yield* freePort
  const settings = join(yield* temporaryDirectory, "settings.yml")
  yield* Effect.promise(async () => {
    const template = await readFile(new URL("searx.yml", import.meta.url), "utf8")
    await writeFile(settings, template.replaceAll("$PORT", String(port)).replaceAll("$ENGINE_PORT", enginePort))
  })
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(python, ["-m", "searx.webapp"], { env: { SEARX_SETTINGS_PATH: settings }, stdio: "ignore" })
    ),
    (child) =>
      Effect.promise(async () => {
        const ended = child.exitCode === null ? once(child, "exit") : undefined
        child.kill("SIGKILL")
        await ended
      })
  )
  const url = `http://127.0.0.1:${port}`
  yield* Effect.tryPromise(() => fetch(`${url}/config`)).pipe(
    Effect.retry({ schedule: Schedule.spaced("100 millis"), times: 300 }),
    Effect.orDie
  )
  return url
})
