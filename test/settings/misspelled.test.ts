import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { misspellings } from "../../src/settings/misspelled.ts"
import { type Name, table, variableOf } from "../../src/settings/table.ts"

const settings = (Object.keys(table) as ReadonlyArray<Name>).map(variableOf)

/** Variables that systems, shells, services and other programs set, one a line. */
const others = readFileSync(new URL("./other-variables.txt", import.meta.url), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))

describe("misspelled variables", () => {
  it.each([
    ["QUARY_PROVIDERS", "QUARRY_PROVIDERS"],
    ["TRUSTED_PROXY_HOP", "TRUSTED_PROXY_HOPS"],
    ["DATABSE_URL", "DATABASE_URL"],
    ["DATABASE_RUL", "DATABASE_URL"],
    ["DATABASEURL", "DATABASE_URL"],
    ["QUARY_PROVIDER", "QUARRY_PROVIDERS"],
    ["database_url", "DATABASE_URL"],
    ["KEY_PEPER", "KEY_PEPPER"],
    ["SHUTDOWN_GRACE_", "SHUTDOWN_GRACE"],
    ["DATABASE_URI", "DATABASE_URL"],
    ["SIGNUP", "SIGN_UP"],
    ["SIGN_UP_", "SIGN_UP"]
  ])("%s is taken for %s", (variable, setting) => {
    assert.deepStrictEqual(misspellings([variable]), [{ variable, setting }])
  })

  it("no variable of a system or of another program is taken for a setting", () => {
    assert.isAbove(others.length, 400)
    assert.deepStrictEqual(misspellings([...others, "DATABASE_URL", "LOG_LEVEL", "BASE_URL", "REDIS_URL"]), [])
  })

  it("no setting is taken for another one", () => {
    assert.deepStrictEqual(misspellings(settings), [])
  })

  it("a name that other programs read is a mistake only while the setting is missing", () => {
    assert.deepStrictEqual(misspellings(["LOGLEVEL", "LOG_LEVEL"]), [])
    assert.deepStrictEqual(misspellings(["LOGLEVEL"]), [{ variable: "LOGLEVEL", setting: "LOG_LEVEL" }])
  })

  it("a long name costs no more than its length", () => {
    const name = `${"DATABASE_".repeat(100_000)}URL`
    assert.deepStrictEqual(misspellings([name]), [])
  })

  it("every name of eight letters with one letter missing is taken for a setting, unless it is one", () => {
    fc.assert(
      fc.property(fc.constantFrom(...settings.filter(({ length }) => length >= 8)), fc.nat(), (setting, place) => {
        const at = place % setting.length
        const variable = setting.slice(0, at) + setting.slice(at + 1)
        assert.strictEqual(misspellings([variable]).length, settings.includes(variable) ? 0 : 1)
      })
    )
  })
})
