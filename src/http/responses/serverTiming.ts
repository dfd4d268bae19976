import { Context } from "effect"
import type { Timing } from "../../domain/requests/CurrentRequest.ts"

export const SendsServerTiming = Context.Reference<boolean>("quarry/references/SendsServerTiming", {
  defaultValue: () => true
})

const milliseconds = (ms: number): string => (Math.round(Math.max(0, ms) * 10) / 10).toFixed(1)

/** Operators choose the names. Names that look like a host or an address are not shown to customers (R64). */
export const publicName = (name: string | undefined): string | undefined =>
  name !== undefined && /^[\w /+-]{1,128}$/.test(name) ? name : undefined

const described = (name: string | undefined): string => (name === undefined ? "" : `;desc="${name}"`)

/** For example `total;dur=41.2, provider;desc="meta";dur=38.0, cache;desc=miss`. */
export const serverTiming = (totalMs: number, { cache, part }: Timing): string =>
  [
    `total;dur=${milliseconds(totalMs)}`,
    ...(part === undefined ? [] : [`${part.name}${described(publicName(part.by))};dur=${milliseconds(part.ms)}`]),
    ...(cache === undefined ? [] : [`cache;desc=${cache}`])
  ].join(", ")
