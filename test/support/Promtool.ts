import { spawnSync } from "node:child_process"
import { describe } from "@effect/vitest"

const installed = spawnSync("promtool", ["--version"]).status === 0
if (!installed && process.env.QUARRY_REQUIRE_SERVICES === "1") {
  throw new Error("QUARRY_REQUIRE_SERVICES=1, but there is no promtool on the PATH: apt-get install prometheus")
}

/** A group of tests that asks Prometheus's own tool, and says so when it is skipped for want of it. */
export const describeWithPromtool = (name: string, tests: () => void): void => {
  const title = installed ? name : `${name} (needs promtool on the PATH: apt-get install prometheus)`
  describe.skipIf(!installed)(title, tests)
}

/** What the tool says of its input; nothing when it finds nothing wrong. */
export const complaints = (args: ReadonlyArray<string>, input = ""): string => {
  const { status, stderr, stdout } = spawnSync("promtool", args, { input, encoding: "utf8" })
  return status === 0 ? "" : `${stdout}${stderr}`.trim()
}
