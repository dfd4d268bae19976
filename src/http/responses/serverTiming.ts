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

/**
 * The name of a provider as customers may see it. Operators choose the names, so a name that looks like a host name or
 * an address is left out (R64).
 */
export const publicName = (name: string | undefined): string | undefined =>
  name !== undefined && /^[\w /+-]{1,128}$/.test(name) ? name : undefined

const described = (name: string | undefined): string => (name === undefined ? "" : `;desc="${name}"`)

/** The value of the header, such as `total;dur=41.2, provider;desc="meta";dur=38.0, cache;desc=miss`. */
export const serverTiming = (totalMs: number, { cache, part }: Timing): string =>
  [
    `total;dur=${milliseconds(totalMs)}`,
    ...(part === undefined ? [] : [`${part.name}${described(publicName(part.by))};dur=${milliseconds(part.ms)}`]),
    ...(cache === undefined ? [] : [`cache;desc=${cache}`])
  ].join(", ")
