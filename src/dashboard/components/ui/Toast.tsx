import { signal } from "@preact/signals"

interface Message {
  readonly id: number
  readonly text: string
}

const visibleMs = 6_000
const maxMessages = 3

const messages = signal<ReadonlyArray<Message>>([])

let lastId = 0

/** Shows a short message, which screen readers announce and which disappears after 6 seconds. */
export const announce = (text: string): void => {
  const id = ++lastId
  messages.value = [...messages.value, { id, text }].slice(-maxMessages)
  setTimeout(() => {
    messages.value = messages.value.filter((message) => message.id !== id)
  }, visibleMs)
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
    {within === dialogs.value.at(-1) && messages.value.map(({ id, text }) => <p key={id}>{text}</p>)}
  </div>
)
