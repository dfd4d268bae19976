import { signal } from "@preact/signals"

/** Short messages about what has just happened. Screen readers announce them, and nothing needs to be closed. */

interface Message {
  readonly id: number
  readonly text: string
}

const visibleMs = 6_000
const maxMessages = 3

const messages = signal<ReadonlyArray<Message>>([])

let lastId = 0

export const announce = (text: string): void => {
  const id = ++lastId
  messages.value = [...messages.value, { id, text }].slice(-maxMessages)
  setTimeout(() => {
    messages.value = messages.value.filter((message) => message.id !== id)
  }, visibleMs)
}

/** In the document from its start: a live region that appears together with its text is not announced. */
export const Toasts = () => (
  <div class="toasts" role="status" aria-live="polite">
    {messages.value.map(({ id, text }) => (
      <p key={id}>{text}</p>
    ))}
  </div>
)
