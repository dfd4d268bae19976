// Without Effect, because the pages of the console import it.

/** Names that the command line does not write as a flag. */
const positional: ReadonlySet<string> = new Set(["replica forget id", "account search text", "index load source"])

/** Quotes for a POSIX shell. */
const quoted = (text: string): string => (/^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

const flagOf = (name: string, value: unknown): string => {
  const flag = `--${name.replaceAll("_", "-")}`
  if (value === true) return flag
  const text = String(value)
  return text.startsWith("-") ? `${flag}=${quoted(text)}` : `${flag} ${quoted(text)}`
}

/** A command, and its flags in snake case. An act is one. */
export interface CommandFields {
  readonly command: string
  readonly [flag: string]: unknown
}

/** The command as a line for a shell. */
export const commandLine = ({ command, ...fields }: CommandFields): string => {
  const words = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined || value === false) return []
    return [positional.has(`${command} ${name}`) ? quoted(String(value)) : flagOf(name, value)]
  })
  return ["quarry", command, ...words].join(" ")
}
