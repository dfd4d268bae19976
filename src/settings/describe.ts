import { Config, Duration, Effect, Option, Redacted, Struct } from "effect"
import { durationText } from "../domain/durationText.ts"
import { AppConfig } from "./Settings.ts"
import { type Name, table, type Values, variableOf } from "./table.ts"

const redacted = "<redacted>"

/** Redacts the password of a URL, and query parameters that may hold a secret. */
const withoutPassword = (text: string): string => {
  const url = new URL(text)
  if (url.password !== "") url.password = "redacted"
  for (const name of url.searchParams.keys())
    if (/pass|secret|token|key/i.test(name)) url.searchParams.set(name, "redacted")
  return url.href.replaceAll(/(?<=:)redacted(?=@)|(?<==)redacted/g, redacted)
}

const pairsText = (pairs: object): string =>
  Object.entries(pairs)
    .map(([name, value]) => `${name}=${value}`)
    .join(",")

type Shown = string | number | boolean | null

const show = (name: Name, value: Values[Name]): Shown => {
  if (value === undefined) return null
  if (typeof value === "number" || typeof value === "boolean") return value
  const { hides } = table[name].form
  if (hides === "password") {
    const text = String(Redacted.isRedacted(value) ? Redacted.value<unknown>(value) : value)
    return text
      .split(",")
      .map((part) => withoutPassword(part.trim()))
      .join(",")
  }
  if (hides === "everything") return Array.isArray(value) ? value.map(() => redacted).join(",") : redacted
  if (typeof value === "string") return name === "logLevel" ? value.toLowerCase() : value
  // An empty list or map means that the variable is not set.
  if (Array.isArray(value)) return value.join(",") || null
  return Duration.isDuration(value) ? durationText(Duration.toMillis(value)) : pairsText(value) || null
}

/** Secrets are redacted. Null means not set. */
export const describe = (values: Values): Readonly<Record<string, Shown>> =>
  Object.fromEntries(Struct.keys(table).map((name) => [variableOf(name), show(name, values[name])]))

/** Kept in `DATA_DIR` if they are not set. */
const kept: ReadonlyArray<Name> = ["authSecret", "keyPepper"]

const isGiven = (name: Name): Effect.Effect<boolean> =>
  Effect.map(
    // Reading cannot fail: names are flat, and the sources are the environment and records.
    Effect.orDie(Config.option(Config.String(variableOf(name)))),
    (text) => Option.getOrElse(text, () => "") !== ""
  )

/** The settings in force, and where each comes from. */
export const list = Effect.gen(function* () {
  const shown = describe(yield* AppConfig)
  return yield* Effect.forEach(Struct.keys(table), (name) =>
    Effect.map(isGiven(name), (given) => ({
      name: variableOf(name),
      value: shown[variableOf(name)] ?? null,
      secret: table[name].form.hides !== "nothing",
      source: given
        ? ("environment" as const)
        : kept.includes(name)
          ? ("data directory" as const)
          : ("default" as const)
    }))
  )
})
