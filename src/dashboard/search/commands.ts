export interface Command {
  readonly text: string
  readonly note: string
  readonly path: string
}

const idForms: ReadonlyArray<readonly [pattern: RegExp, command: (id: string) => Command]> = [
  [/^(?:qry|pag)_[0-9a-f]{32}$/, (id) => ({ text: "Open the log entry", note: id, path: `/dashboard/log/${id}` })],
  [/^bat_[0-9a-f]{32}$/, (id) => ({ text: "Show the batch in the log", note: id, path: `/dashboard/log?batch=${id}` })],
  [/^key_[0-9a-f]{32}$/, (id) => ({ text: "Show the key's searches", note: id, path: `/dashboard/log?key=${id}` })],
  [
    /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
    (id) => ({ text: "Show the request in the log", note: id, path: `/dashboard/log?request=${id}` })
  ]
]

const ofId = (text: string): ReadonlyArray<Command> =>
  idForms.flatMap(([pattern, command]) => (pattern.test(text) ? [command(text)] : []))

const maxCommands = 12

/** A pasted id first, then commands with all words of the text, then a search of the log and of the web. */
export const commandsFor = (typed: string, known: ReadonlyArray<Command>): ReadonlyArray<Command> => {
  const text = typed.trim()
  const byId = ofId(text.toLowerCase())
  if (byId.length > 0) return byId
  const words = text.toLowerCase().split(/\s+/)
  const matching = known.filter(({ note, text }) =>
    words.every((word) => `${text} ${note}`.toLowerCase().includes(word))
  )
  const searches: ReadonlyArray<Command> =
    text === ""
      ? []
      : [
          { text: `Find “${text}” in the log`, note: "Log", path: `/dashboard/log?${new URLSearchParams({ text })}` },
          {
            text: `Search the web for “${text}”`,
            note: "Playground",
            path: `/dashboard/playground?${new URLSearchParams({ query: text })}`
          }
        ]
  return [...matching.slice(0, maxCommands - searches.length), ...searches]
}
