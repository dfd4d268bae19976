import { Duration, Redacted } from "effect"
import { type Name, table, type Values, variableOf } from "./table.ts"

const redacted = "<redacted>"

/** An address without its password, and without what may be one in its query. */
const withoutPassword = (text: string): string => {
  const url = new URL(text)
  if (url.password !== "") url.password = "redacted"
  for (const name of url.searchParams.keys())
    if (/pass|secret|token|key/i.test(name)) url.searchParams.set(name, "redacted")
  return url.href.replaceAll(/(?<=:)redacted(?=@)|(?<==)redacted/g, redacted)
}

const unitsMs = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1000, milli: 1 }

/** A duration as a variable takes it. */
const durationText = (value: Duration.Duration): string => {
  const ms = Duration.toMillis(value)
  const [unit, unitMs] = Object.entries(unitsMs).find(([, unitMs]) => ms % unitMs === 0) ?? ["milli", 1]
  return ms === 0 ? "0" : `${ms / unitMs} ${unit}${ms === unitMs ? "" : "s"}`
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
  // A list or a map without entries is what an unset variable means.
  if (Array.isArray(value)) return value.join(",") || null
  return Duration.isDuration(value) ? durationText(value) : pairsText(value) || null
}

/** The settings by the names of their variables, secrets and passwords in addresses redacted; null is unset. */
export const describe = (values: Values): Readonly<Record<string, Shown>> =>
  Object.fromEntries((Object.keys(table) as Array<Name>).map((name) => [variableOf(name), show(name, values[name])]))
