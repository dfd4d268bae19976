import type { Act } from "./acts.ts"

// Without Effect, because the console's page imports it.

/** Names that the command line does not write as a flag. */
const positional: ReadonlySet<string> = new Set(["replica forget id"])

/** Quotes for a POSIX shell. */
const quoted = (text: string): string => (/^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

const flagOf = (name: string, value: unknown): string => {
  const flag = `--${name.replaceAll("_", "-")}`
  if (value === true) return flag
  const text = String(value)
  return text.startsWith("-") ? `${flag}=${quoted(text)}` : `${flag} ${quoted(text)}`
}

/** The command that does the same as the act. */
export const commandLine = ({ command, ...fields }: Act): string => {
  const words = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    return [positional.has(`${command} ${name}`) ? quoted(String(value)) : flagOf(name, value)]
  })
  return ["quarry", command, ...words].join(" ")
}
