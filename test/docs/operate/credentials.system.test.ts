import { execFile } from "node:child_process"
import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { promisify } from "node:util"
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Migrations from "../../../src/layers/sql/Migrations.ts"
import * as Postgres from "../../../src/layers/sql/store/Postgres.ts"
import { describeWithRedis, RedisServer } from "../../support/servers/RedisServer.ts"
import { emptyDatabase, serverUrl } from "../../support/stores/Database.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

const guide = readFileSync(new URL("../../../docs/operate/rotation.md", import.meta.url), "utf8")

const blocks = (language: string): ReadonlyArray<string> =>
  [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "gm"))].map(([, text = ""]) => text)

describeWithPostgres("the guide's rotation of the password of Postgres", () => {
  it.live("leaves a second role that migrates the first one's tables, while both can sign in", () =>
    Effect.gen(function* () {
      const { name, url } = yield* emptyDatabase
      // Roles belong to the whole server, so each run has its own.
      const suffix = randomUUID().slice(0, 8)
      const named = (text: string): string =>
        text
          .replaceAll(/\bquarry(_owner|_2)?\b/g, (role) => `${role}_${suffix}`)
          .replaceAll(`database quarry_${suffix}`, `database ${name}`)
      const withDatabase = (address: string) => ({ url: Redacted.make(address), poolSize: 1 })
      const as = (role: string) => {
        const address = new URL(Redacted.value(url))
        address.username = named(role)
        address.password = "NEW"
        return Effect.provide(Postgres.layer(withDatabase(address.href)), { local: true })
      }
      const operator = Effect.provide(Postgres.layer(withDatabase(Redacted.value(url))), { local: true })
      const run = (text: string) =>
        Effect.flatMap(SqlClient.SqlClient, (sql) =>
          Effect.forEach(
            text.split(";").filter((statement) => statement.trim() !== ""),
            (statement) => sql.unsafe(statement),
            { discard: true }
          )
        )

      yield* Effect.addFinalizer(() =>
        Effect.gen(function* () {
          for (const role of ["quarry_owner", "quarry"])
            yield* Effect.ignore(
              run(named(`reassign owned by ${role} to current_user; drop owned by ${role}`)).pipe(operator)
            )
          for (const role of ["quarry_2", "quarry", "quarry_owner"])
            yield* Effect.ignore(
              run(named(`drop role if exists ${role}`)).pipe(
                Effect.provide(Postgres.layer(withDatabase(serverUrl)), { local: true })
              )
            )
        })
      )
      yield* run(named("create role quarry login password 'NEW'")).pipe(operator)
      yield* run(named("alter database quarry owner to quarry")).pipe(operator)
      yield* run(named("alter schema public owner to quarry")).pipe(operator)
      yield* Migrations.run.pipe(as("quarry"))

      const [first = "", next = "", ...others] = blocks("sql")
      assert.lengthOf(others, 0)
      yield* run(named(first)).pipe(operator)
      yield* run(named(next)).pipe(operator)
      const change = "alter table accounts add column note text; alter table accounts drop column note"
      yield* run(change).pipe(as("quarry_2"))
      yield* run(change).pipe(as("quarry"))
      yield* Migrations.run.pipe(as("quarry_2"))
      yield* run(named("drop role quarry")).pipe(operator)
      yield* run("select count(*) from accounts").pipe(as("quarry_2"))
    })
  )
})

describeWithRedis("the guide's rotation of the password of Redis", () => {
  it("accepts both passwords between the commands, and the new one afterwards", async () => {
    const redis = await RedisServer.make("OLD")
    await redis.start()
    try {
      const execute = promisify(execFile)
      const cli = async (password: string, line: string): Promise<string> => {
        const words = line
          .replace(/#.*/, "")
          .trim()
          .split(/\s+/)
          .map((word) => word.replaceAll("'", ""))
        const args = ["-p", String(redis.port), "-a", password, "--no-auth-warning", ...words.slice(1)]
        return (await execute("redis-cli", args)).stdout.trim()
      }
      const [commands = ""] = blocks("sh").filter((text) => text.startsWith("redis-cli acl"))
      const [add = "", remove = "", list = ""] = commands.split("\n")
      assert.strictEqual(await cli("OLD", add), "OK")
      for (const password of ["OLD", "NEW"]) assert.strictEqual(await cli(password, "redis-cli ping"), "PONG")
      assert.strictEqual(await cli("NEW", remove), "OK")
      assert.include(await cli("OLD", "redis-cli ping"), "NOAUTH")
      const listed = await cli("NEW", list)
      assert.include(listed, "user default")
      assert.notInclude(listed, "NEW")
    } finally {
      await redis.stop()
    }
  })
})
