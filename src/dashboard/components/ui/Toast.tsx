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

/** Must be in the document before any message: screen readers ignore a live region added with its text. */
export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {messages.value.map(({ id, text }) => (
      <p key={id}>{text}</p>
    ))}
  </div>
)
