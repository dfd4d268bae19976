import { computed, signal } from "@preact/signals"

/** Milliseconds that the server's clock is ahead of the browser's. Undefined before the first response. */
const ahead = signal<number | undefined>(undefined)

/** `Date` has whole seconds, and a response takes a moment. A smaller difference is not a wrong clock. */
const toleranceMs = 2_000

export const noteServerTime = (headers: Headers): void => {
  const before = ahead.peek()
  const at = Date.parse(headers.get("date") ?? "")
  const measured = Number.isNaN(at) ? (before ?? 0) : at + 500 - Date.now()
  const next = Math.abs(measured) > toleranceMs ? measured : 0
  if (before === undefined || Math.abs(next - before) > toleranceMs) ahead.value = next
}

/** The present in Unix milliseconds by the server's clock: browsers' clocks can be hours off. */
export const now = (): number => Date.now() + (ahead.value ?? 0)

/** False until a response has given the server's time. Requests for ranges that end now wait for it. */
export const isTimeKnown = computed(() => ahead.value !== undefined)
