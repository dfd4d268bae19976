import type { Fault } from "./TestQuarry.ts"

type Fetch = (request: Request) => Promise<Response>

const failure = () => new TypeError("fetch failed")

/** Rejects when the request is aborted. */
const aborted = ({ signal }: Request): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener("abort", () => reject(signal.reason))
  })

/** The first bytes of a body, and then an error. One that is shorter breaks off at its end. */
const cut = (body: ReadableStream<Uint8Array> | null, bytes: number): ReadableStream<Uint8Array> => {
  const reader = body?.getReader()
  let left = bytes
  return new ReadableStream({
    async pull(controller) {
      const chunk = left > 0 ? await reader?.read() : undefined
      if (chunk === undefined || chunk.done) {
        await reader?.cancel()
        return controller.error(failure())
      }
      controller.enqueue(chunk.value.subarray(0, left))
      left -= chunk.value.length
    }
  })
}

/** A network in which requests fail as a test says, and abort as their signals say. */
export const throughNetwork =
  (serve: Fetch, nextFault: () => Fault | undefined): Fetch =>
  async (request) => {
    const fault = nextFault()
    if (fault === "unsent") throw failure()
    if (fault === "hang") return aborted(request)
    const response = await Promise.race([serve(request), aborted(request)])
    // The service answers an aborted request with a status of its own.
    request.signal.throwIfAborted()
    if (fault === undefined) return response
    await (fault === "lost" ? response.text() : undefined)
    if (fault === "lost") throw failure()
    return new Response(cut(response.body, fault.cutAfterBytes), response)
  }
