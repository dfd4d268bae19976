import { execFile, spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe } from "@effect/vitest"
import { Effect } from "effect"

const remedy = "no python3 of version 3.9 or later with httpx on the PATH: apt-get install python3-httpx"

const ofSystem = "/usr/bin/python3"

/** Prefers the system's Python, for which Debian's packages are installed. */
const command = existsSync(ofSystem) ? ofSystem : "python3"

const installed = spawnSync(command, ["-c", "import httpx, sys; sys.exit(sys.version_info < (3, 9))"]).status === 0

const isRequired = process.env.QUARRY_REQUIRE_SERVICES === "1"
if (!installed && isRequired) throw new Error(`QUARRY_REQUIRE_SERVICES=1, but there is ${remedy}`)

/** A group of tests that run Python. If it is missing, it is skipped with a message. */
export const describeWithPython = (name: string, tests: () => void): void => {
  describe.skipIf(!installed)(installed ? name : `${name} (${remedy})`, tests)
}

const client = fileURLToPath(new URL("../../../clients/python/", import.meta.url))

/** Runs Python in the folder of `quarry-client`. Returns stdout, stderr and the exit code. */
export const python = (args: ReadonlyArray<string>, env: Readonly<Record<string, string>>) =>
  Effect.callback<{ readonly code: number; readonly stdout: string; readonly stderr: string }>((resume) => {
    const { HOME = "", PATH = "" } = process.env
    const child = execFile(
      command,
      args,
      // Writes no files next to the sources, which another test may be reading.
      { cwd: client, env: { HOME, PATH, PYTHONDONTWRITEBYTECODE: "1", PYTHONPATH: "src", ...env }, maxBuffer: 1 << 28 },
      (_, stdout, stderr) => resume(Effect.succeed({ code: child.exitCode ?? 1, stdout, stderr }))
    )
    return Effect.sync(() => void child.kill("SIGKILL"))
  })
