import { Effect } from "effect"
import { type Ports, programs, proxy } from "../../test/support/servers/Proxies.ts"

/** Callers reach the replicas directly, by turns, or through a proxy with the configuration of `deploy/`. */
export type Front = "direct" | "haproxy" | "nginx" | "caddy"

/** The addresses that callers use. */
export const start = Effect.fnUntraced(function* (
  front: Front,
  replicas: ReadonlyArray<{ readonly url: string }>,
  ports: Ports
) {
  if (front === "direct") return replicas
  const program = programs.find(({ name }) => name === front)
  if (program === undefined) return yield* Effect.die(`${front} has no configuration`)
  return [{ url: `https://localhost:${yield* proxy(program, ports)}` }]
})
