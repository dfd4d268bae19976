import { readFileSync } from "node:fs"
import { Effect, Schema } from "effect"
import type { HttpDescription } from "../../../domain/providers/HttpDescription.ts"
import type { Template } from "../../../domain/providers/Template.ts"
import type { Pacer } from "../../../services/providers/Pacer.ts"
import * as ApiKeys from "../ApiKeys.ts"
import * as Gate from "../Gate.ts"
import { address, define, type ProviderType, requirePrivacy } from "../ProviderType.ts"
import type { UpstreamClient } from "../UpstreamClient.ts"
import * as Description from "./Description.ts"
import { makeEngines } from "./HttpProvider.ts"
import type { Report } from "./request.ts"

// Provider types of the product that are descriptions, in the form of an entry of the provider file.

const decodeOptions = Schema.decodeUnknownSync(Description.Options)

const fail: Report = (path, problem) => {
  throw new Error(`${path} ${problem}`)
}

const readDescription = (name: string): HttpDescription => {
  const { type: _, ...entry } = JSON.parse(readFileSync(new URL(`../adapters/${name}.json`, import.meta.url), "utf8"))
  return Description.read(decodeOptions(entry), new Map(), fail)
}

/** The same path at another address. */
const atAddress = (template: Template, url: string): Template =>
  template.map((part, index) =>
    index === 0 && part._tag === "text" ? { ...part, text: part.text.replace(/^https:\/\/[^/]+/, url) } : part
  )

const moved = (description: HttpDescription, address: string | undefined): HttpDescription => {
  if (address === undefined) return description
  const base = address.replace(/\/+$/, "")
  const { news, request } = description
  return {
    ...description,
    request: { ...request, url: atAddress(request.url, base) },
    news: news && { ...news, request: { ...news.request, url: atAddress(news.request.url, base) } }
  }
}

export const type = (name: string): ProviderType<UpstreamClient | Pacer> => {
  let description: HttpDescription | undefined
  return define({
    options: Schema.Struct({
      url: Schema.optionalKey(address.url),
      insecure: address.insecure,
      ...ApiKeys.options,
      ...Gate.options
    }).check(requirePrivacy, ApiKeys.oneWay(true)),
    engines: "none",
    make: (provider, options) =>
      Effect.suspend(() => {
        description ??= readDescription(name)
        return makeEngines(provider, {
          description: moved(description, options.url),
          options,
          variables: new Map(),
          headers: {}
        })
      })
  })
}
