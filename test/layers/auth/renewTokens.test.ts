import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { renewTokens } from "../../../src/layers/auth/betterAuth/RotatedSignatures.ts"
import { rotatingKeyring } from "../../support/accounts/rotatingKeyring.ts"

/** Renews the tokens of a request during a rotation, and counts the statements. */
const renew = Effect.fnUntraced(function* (cookie: string) {
  const keyring = rotatingKeyring()
  keyring.give()
  keyring.rotate()
  let statements = 0
  // As much of a client as is used here: a template is a statement, and a call with a name quotes it.
  const sql = Object.assign((first: unknown) => (Array.isArray(first) ? Effect.sync(() => statements++) : first), {
    update: (values: unknown) => values
  }) as unknown as SqlClient.SqlClient
  const request = new Request("https://quarry.test/api/auth/get-session", { headers: { cookie } })
  const renewed = yield* renewTokens(keyring, request).pipe(Effect.provideService(SqlClient.SqlClient, sql))
  return { statements, cookie: renewed.headers.get("cookie") }
})

const sessions = (count: number) =>
  Array.from({ length: count }, (_, n) => `session_token=${String(n).padStart(32, "a")}.`).join("; ")

describe("R70: during a rotation of AUTH_SECRET", () => {
  it.effect("more session cookies than a browser sends cost no more statements", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* renew(sessions(1))).statements, 1)
      assert.strictEqual((yield* renew(sessions(2))).statements, 2)
      assert.strictEqual((yield* renew(sessions(300))).statements, (yield* renew(sessions(4))).statements)
    })
  )

  it.effect("a cookie of 64,000 spaces takes no second", () =>
    Effect.gen(function* () {
      const startedAt = performance.now()
      const cookie = `a=b;${" ".repeat(64_000)}x`
      assert.strictEqual((yield* renew(cookie)).cookie, cookie)
      assert.isBelow(performance.now() - startedAt, 1000)
    })
  )
})
