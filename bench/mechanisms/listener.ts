import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Duration, Effect, Layer } from "effect"
import { HttpServerResponse } from "effect/http"
import { limits } from "../../src/http/listener/limits.ts"
import { serve } from "../../src/http/listener/NodeListener.ts"
import * as Ids from "../../src/layers/Ids.ts"
import { Readiness } from "../../src/services/operations/Readiness.ts"
import * as Load from "../support/Load.ts"
import type { Comparison, Sample } from "./Comparison.ts"

/* A constant response over sockets, so that only the listeners differ. The load is sent by another process. */

const connections = 64
const seconds = 1
const host = "127.0.0.1"

const response = HttpServerResponse.jsonUnsafe({ results: "r".repeat(220) })
const app = Effect.sync(() => response)

const ours = serve(app, {
  host,
  port: 0,
  limits,
  drainDelay: () => Duration.zero,
  drain: Duration.seconds(1)
}).pipe(
  Effect.map(({ port }) => port),
  Effect.provide(Layer.merge(Readiness.layer, Ids.layer))
)

const library = Effect.gen(function* () {
  const server = createServer()
  const { serve } = yield* NodeHttpServer.make(() => server, { host, port: 0, gracefulShutdownTimeout: "1 second" })
  yield* serve(app)
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
})

const underLoad = (load: Load.Load, port: number): Effect.Effect<Sample> =>
  Effect.gen(function* () {
    const before = process.cpuUsage()
    const { errors, latencyMs, requests } = yield* load.run({
      urls: [`http://${host}:${port}`],
      secrets: [],
      query: "q",
      distinct: false,
      seconds,
      shape: { kind: "closed", connections }
    })
    if (errors > 0) return yield* Effect.die(new Error(`${errors} requests failed`))
    const { system, user } = process.cpuUsage(before)
    return { cpu: (system + user) / requests, took: latencyMs.mean }
  })

export const comparisons = Effect.gen(function* () {
  const load = yield* Load.start
  const comparison: Comparison = {
    name: "a request from one of 64 connections",
    ours: underLoad(load, yield* ours),
    library: underLoad(load, yield* library)
  }
  return [comparison]
}).pipe(Effect.orDie)
