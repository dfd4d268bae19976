import cluster from "node:cluster"
import { availableParallelism } from "node:os"
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import * as Admin from "../../http/admin/Admin.ts"
import type { AppConfig } from "../../settings/Settings.ts"

export const isWorker = cluster.isWorker

/** The one process that prints startup messages: the only one, or the first worker. */
export const isFirst = cluster.isPrimary || cluster.worker?.id === 1

export const workersOf = ({ workers }: AppConfig["Service"]): number => {
  if (isWorker) return 1
  return workers === "auto" ? availableParallelism() : workers
}

/** Sends the port of the worker's private listener to the supervisor. */
export const admin = Layer.effectDiscard(
  Effect.gen(function* () {
    const context = yield* Layer.build(Admin.listener({ host: "127.0.0.1", port: 0, hosts: [], exclusive: true }))
    const { address } = Context.get(context, HttpServer.HttpServer)
    yield* Effect.sync(() => process.send?.({ adminPort: "port" in address ? address.port : 0 }))
  })
)
