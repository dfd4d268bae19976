import { Agent, request } from "node:http"
import { Effect, Schedule } from "effect"

/** Requests for each second. */
const mePerSecond = 20
const pagesPerSecond = 2

/** How long another account waited, in milliseconds, since the requests were due. */
export interface Felt {
  readonly meP99: number
  readonly slowestPage: number
  /** Responses other than 200. */
  readonly lost: number
}

export interface Neighbor {
  /** What was felt since the last call. */
  readonly felt: () => Felt
}

let asked = 0

/** Another account, which asks for `/v1/me` and for ordinary pages at a fixed rate until the scope closes. */
export const start = Effect.fnUntraced(function* (means: {
  readonly port: number
  readonly secret: string
  readonly sitePort: string
}) {
  const agent = yield* Effect.acquireRelease(
    Effect.sync(() => new Agent({ keepAlive: true })),
    (it) => Effect.sync(() => it.destroy())
  )
  const me: Array<number> = []
  const pages: Array<number> = []
  let lost = 0
  const ask = (path: string, times: Array<number>): void => {
    const dueAt = performance.now()
    const headers = { authorization: `Bearer ${means.secret}` }
    const end = (status: number | undefined): void => {
      if (status !== 200) lost++
      times.push(performance.now() - dueAt)
    }
    request({ host: "127.0.0.1", port: means.port, agent, path, headers })
      .on("response", (response) => response.resume().on("end", () => end(response.statusCode)))
      .on("error", () => end(undefined))
      .end()
  }
  const askForPage = (): void => {
    const address = `http://127.0.6.${(++asked % 200) + 1}:${means.sitePort}/${asked}`
    ask(`/v1/page?url=${encodeURIComponent(address)}`, pages)
  }
  const every = (perSecond: number, run: () => void) =>
    Effect.forkScoped(Effect.repeat(Effect.sync(run), Schedule.fixed(1000 / perSecond)))
  yield* every(mePerSecond, () => ask("/v1/me", me))
  yield* every(pagesPerSecond, askForPage)
  const neighbor: Neighbor = {
    felt: () => {
      const sorted = me.splice(0).sort((a, b) => a - b)
      const felt = {
        meP99: Math.round(sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0),
        slowestPage: Math.round(Math.max(0, ...pages.splice(0))),
        lost
      }
      lost = 0
      return felt
    }
  }
  return neighbor
})
