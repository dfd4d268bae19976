import { signal } from "@preact/signals"

interface Message {
  readonly id: number
  readonly text: string
  readonly undo: (() => void) | undefined
}

const visibleMs = 6_000
/** Long enough to read the message, decide, and reach the button with the keyboard. */
const undoableMs = 20_000
const maxMessages = 3

const messages = signal<ReadonlyArray<Message>>([])

let lastId = 0

const remove = (id: number): void => {
  messages.value = messages.value.filter((message) => message.id !== id)
}

export const announce = (text: string, undo?: () => void): void => {
  const id = ++lastId
  messages.value = [...messages.value, { id, text, undo }].slice(-maxMessages)
  setTimeout(() => remove(id), undo === undefined ? visibleMs : undoableMs)
}

/** Open dialogs. The topmost shows the messages: nobody would see or hear messages behind its backdrop. */
const dialogs = signal<ReadonlyArray<string>>([])

/** Shows the messages in this dialog until the returned function is called. */
export const showInDialog = (id: string): (() => void) => {
  dialogs.value = [...dialogs.peek(), id]
  return () => {
    dialogs.value = dialogs.peek().filter((other) => other !== id)
  }
}

/** Must be in the document before any message: screen readers ignore a live region that is added with its text. */
export const Toasts = ({ within }: { readonly within?: string }) => (
  <div class="toasts" role="status" aria-live="polite">
    {within === dialogs.value.at(-1) &&
      messages.value.map(({ id, text, undo }) => (
        <p key={id}>
          {text}
          {undo && (
            <button
              type="button"
              onClick={() => {
                remove(id)
                undo()
              }}
            >
              Undo
            </button>
          )}
        </p>
      ))}
  </div>
)
