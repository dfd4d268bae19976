import { useEffect, useId, useRef, useState } from "preact/hooks"
import { lastOf, useRoute } from "../app/resource.ts"
import { isOneOf } from "../app/roles.ts"
import { home, navigate } from "../app/router.ts"
import { type Command, commandsFor } from "../search/commands.ts"
import { ownPageLinks } from "./pages.ts"
import { Dialog } from "./ui/Dialog.tsx"

const failed = {
  text: "Failed searches of the last 24 hours",
  note: "Log",
  path: `${home}/log?range=24h&status=upstream_error`
}

const fixed = (): ReadonlyArray<Command> => [
  ...ownPageLinks().map(({ path, text }) => ({ text, note: "Page", path })),
  ...(isOneOf("builders") ? [{ text: "Create an API key", note: "Action", path: `${home}/keys?create=app` }] : []),
  ...(isOneOf("readers") ? [failed] : []),
  { text: "API reference", note: "Page", path: "/docs" }
]

const run = (path: string): void => (path.startsWith(home) ? navigate(path) : location.assign(path))

interface OptionsProps {
  readonly id: string
  readonly commands: ReadonlyArray<Command>
  readonly active: number
  readonly onChoose: (command: Command) => void
}

const Options = ({ active, commands, id, onChoose }: OptionsProps) => (
  <div id={id} class="commands" role="listbox" aria-label="Commands">
    {commands.map((command, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the focus, and its keys choose.
      <div
        key={command.path + command.text}
        id={`${id}-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === active}
        onClick={() => onChoose(command)}
      >
        <bdi>{command.text}</bdi>
        <bdi class="soft">{command.note}</bdi>
      </div>
    ))}
  </div>
)

export const Palette = ({ onClose }: { readonly onClose: () => void }) => {
  const keys = lastOf(useRoute("GET /v1/api-keys", isOneOf("readers") ? {} : undefined).state.value)?.api_keys ?? []
  const [typed, setTyped] = useState("")
  const [active, setActive] = useState(0)
  const field = useRef<HTMLInputElement>(null)
  const id = useId()
  useEffect(() => field.current?.focus(), [])
  const known = [
    ...fixed(),
    ...keys.map((key) => ({ text: key.name, note: `Key ${key.hint}`, path: `${home}/log?key=${key.id}` }))
  ]
  const commands = commandsFor(typed, known)
  const choose = ({ path }: Command): void => {
    onClose()
    run(path)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      event.preventDefault()
      setActive((active + step + commands.length) % Math.max(1, commands.length))
    }
    const command = commands[active]
    if (event.key === "Enter" && command !== undefined) {
      event.preventDefault()
      choose(command)
    }
  }
  return (
    <Dialog title="Go to" onClose={onClose}>
      <div class="stack">
        <input
          ref={field}
          role="combobox"
          aria-label="Page, key, id, or query"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={commands.length === 0 ? undefined : `${id}-${active}`}
          placeholder="Page, key, id, or query"
          autocomplete="off"
          spellcheck={false}
          value={typed}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value)
            setActive(0)
          }}
          onKeyDown={onKeyDown}
        />
        <Options id={id} commands={commands} active={active} onChoose={choose} />
      </div>
    </Dialog>
  )
}
