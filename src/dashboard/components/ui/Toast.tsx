import { signal } from "@preact/signals"

interface Message {
  readonly id: number
  readonly text: string
  readonly undo: (() => void) | undefined
}

const visibleMs = 6_000
/** Enough to read the message, to decide, and to reach the button by the keyboard. */
const undoableMs = 20_000
const maxMessages = 3

const messages = signal<ReadonlyArray<Message>>([])

let lastId = 0

const remove = (id: number): void => {
  messages.value = messages.value.filter((message) => message.id !== id)
}

/** Shows a short message, which screen readers announce. It disappears after 6 seconds, or 20 if it can be undone. */
export const announce = (text: string, undo?: () => void): void => {
  const id = ++lastId
  messages.value = [...messages.value, { id, text, undo }].slice(-maxMessages)
  setTimeout(() => remove(id), undo === undefined ? visibleMs : undoableMs)
}

/** Dialogs that are open. The topmost shows the messages: behind its backdrop nobody would see or hear them. */
const dialogs = signal<ReadonlyArray<string>>([])

/** Shows the messages in the dialog while it is open. Returns the function that ends it. */
export const showInDialog = (id: string): (() => void) => {
  dialogs.value = [...dialogs.peek(), id]
  return () => {
    dialogs.value = dialogs.peek().filter((other) => other !== id)
  }
}

/**
 * Must be in the document before any message: screen readers ignore a live region added with its text. `within` is the id
 * of the dialog that the region is in.
 */
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
