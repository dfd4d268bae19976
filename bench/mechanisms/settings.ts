import { readFileSync } from "node:fs"
import { Config, ConfigProvider, Effect, Layer, Option, Redacted, Schema, Struct } from "effect"
import { AppConfig } from "../../src/settings/Settings.ts"
import { type Setting, table, variableOf } from "../../src/settings/table.ts"
import { compare } from "./Comparison.ts"

/** The same table read by `Config` alone. A value that is hidden is `Redacted` before it is checked. */
const config = <A, F>(variable: string, { fallback, form }: Setting<A, F>): Config.Config<A | F> => {
  const isValid = Schema.makeFilter((text: string) => Option.isSome(form.decode(text)) || `a value: ${form.takes}`)
  const text = Schema.String.check(isValid)
  const read = form.hides === "nothing" ? Config.schema(text, variable) : secret(text, variable)
  // The check has decoded the text already, so decoding it again succeeds.
  return Config.withDefault(
    Config.map(read, (value) => Option.getOrThrow(form.decode(value))),
    fallback
  )
}

const secret = (text: Schema.Codec<string>, variable: string): Config.Config<string> =>
  Config.map(Config.schema(Schema.RedactedFromValue(text), variable), (value) => Redacted.value(value))

const settings: Readonly<Record<string, Setting<unknown, unknown>>> = table

const withConfig = Config.all(Struct.keys(table).map((name) => config(variableOf(name), settings[name] ?? table[name])))

const given = (more: Readonly<Record<string, string>> = {}) =>
  ConfigProvider.layer(
    ConfigProvider.fromUnknown({
      PORT: "3001",
      AUTH_SECRET: "a secret of thirty-two characters or more",
      KEY_PEPPER: "another secret of thirty-two characters",
      BASE_URL: "https://api.example.com",
      DATABASE_URL: "postgres://quarry:a-password@127.0.0.1:5432/quarry",
      REDIS_URL: "redis://127.0.0.1:6379",
      SEARXNG_URL: "http://127.0.0.1:8888",
      LOG_FORMAT: "json",
      ...more
    })
  )

const faulty = given({ PORT: "99999", REDIS_URL: "http://:a-password@127.0.0.1" })

const ours = Layer.build(AppConfig.layer)

const messageOf = (read: Effect.Effect<unknown, { readonly message: string }>) =>
  Effect.match(read, {
    onSuccess: () => "    (accepted)",
    onFailure: ({ message }) => message.replaceAll(/^/gm, "    ")
  })

const linesOf = (text: string, from: string, to: string): number =>
  text.slice(text.indexOf(from), text.indexOf(to)).trimEnd().split("\n").length

const lines = () => {
  const reader = readFileSync(new URL("../../src/settings/Settings.ts", import.meta.url), "utf8")
  const here = readFileSync(new URL(import.meta.url), "utf8")
  const ourLines = linesOf(reader, "/** `Config` only reads", "export class AppConfig")
  const theirLines = linesOf(here, "/** The same table", "const given")
  return `Lines that read the table: ${ourLines} of ours, which also find contradictions, and ${theirLines} with Config.`
}

export const comparisons = Effect.succeed([
  compare(
    `a read of the ${Object.keys(table).length} settings, of which eight are given`,
    Effect.scoped(Effect.provide(ours, given(), { local: true })),
    Effect.provide(withConfig, given(), { local: true }),
    {
      perRound: 64,
      note: Effect.gen(function* () {
        const ourMessage = yield* messageOf(Effect.scoped(Effect.provide(ours, faulty)))
        const theirMessage = yield* messageOf(Effect.provide(withConfig, faulty))
        return `${lines()}\nTwo invalid values, ours:\n${ourMessage}\nConfig:\n${theirMessage}`
      })
    }
  )
])
