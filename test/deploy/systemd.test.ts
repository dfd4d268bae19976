import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { systemdAnalyze } from "../support/processes/OperatorTool.ts"
import * as Shipped from "./Shipped.ts"

const unit = Shipped.read("systemd/quarry@.service")
const repository = join(Shipped.directory, "..")

describe("deploy/systemd/quarry@.service", () => {
  it("gives a replica more time to end than it takes", () => {
    assert.isAbove(Number(/^TimeoutStopSec=(\d+)s$/m.exec(unit)?.[1]), Shipped.shutdownSeconds)
  })

  it("sets only variables that Quarry has", () => {
    const [, variables = ""] = /^Environment=(.*)$/m.exec(unit) ?? []
    for (const variable of variables.split(" "))
      assert.isTrue(Shipped.settings.has(variable.split("=")[0] ?? ""), variable)
  })
})

systemdAnalyze.describe("systemd's own tool", () => {
  it("takes the unit and finds little to harden", () => {
    const directory = mkdtempSync(join(tmpdir(), "quarry-systemd-"))
    try {
      const file = join(directory, "quarry@1.service")
      writeFileSync(file, unit.replaceAll("/opt/quarry", repository.replace(/\/$/, "")))
      assert.strictEqual(systemdAnalyze.complaints(["verify", file]), "")
      // In tenths, from 0 to 100: what it finds to be wide open has 96, and 20 is its "OK".
      assert.strictEqual(systemdAnalyze.complaints(["security", "--offline=true", "--threshold=20", file]), "")
    } finally {
      rmSync(directory, { recursive: true })
    }
  })
})
