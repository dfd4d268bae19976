import { Context } from "effect"

/** Sends `Server-Timing` with searches and pages (R64). */
export const SendsServerTiming = Context.Reference<boolean>("quarry/http/SendsServerTiming", {
  defaultValue: () => true
})

/** The parts of the time of a response. */
export interface Timing {
  /** `provider` for a search, `fetch` for a page; undefined if the cache had the answer. */
  readonly part:
    | { readonly name: "provider" | "fetch"; readonly by: string | undefined; readonly ms: number }
    | undefined
  /** Undefined if nothing was looked up, as in a replay. */
  readonly cache: "hit" | "miss" | undefined
}

const milliseconds = (ms: number): string => (Math.round(Math.max(0, ms) * 10) / 10).toFixed(1)

/** Names of providers are the operator's. One that looks like a host name or an address is left out (R64). */
const nameOf = (name: string | undefined): string =>
  name !== undefined && /^[\w /+-]{1,128}$/.test(name) ? `;desc="${name}"` : ""

/** The value of the header, such as `total;dur=41.2, provider;desc="meta";dur=38.0, cache;desc=miss`. */
export const serverTiming = (totalMs: number, { cache, part }: Timing): string =>
  [
    `total;dur=${milliseconds(totalMs)}`,
    ...(part === undefined ? [] : [`${part.name}${nameOf(part.by)};dur=${milliseconds(part.ms)}`]),
    ...(cache === undefined ? [] : [`cache;desc=${cache}`])
  ].join(", ")
