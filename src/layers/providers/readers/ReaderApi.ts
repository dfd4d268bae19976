import { Clock, Duration, Effect, type Redacted, Schema } from "effect"
import { PageUnreadable, UpstreamError, UpstreamTimeout } from "../../../domain/errors.ts"
import type { ParsedPage } from "../../../domain/pages/Page.ts"
import type { PageCopy } from "../../../domain/pages/PageBody.ts"
import { plainText } from "../../../domain/pages/plainText.ts"
import { visibleText } from "../../../domain/pages/visibleText.ts"
import { Refusal } from "../../../domain/providers/Refusal.ts"
import type { UnreadableReason } from "../../../domain/UnreadableReason.ts"
import type { ReadFailure, RemoteReader } from "../../../services/pages/PageReaders.ts"
import type { Pacer } from "../../../services/providers/Pacer.ts"
import { type Turn, unsharedTurn } from "../../../services/providers/Turn.ts"
import { type AddressRules, allowedAddresses } from "../../outgoing/Addresses.ts"
import * as ApiKeys from "../ApiKeys.ts"
import * as Gate from "../Gate.ts"
import { address, decode, type EntryInvalid, requirePrivacy } from "../ProviderType.ts"
import * as Upstream from "../Upstream.ts"
import type { UpstreamClient } from "../UpstreamClient.ts"
import type { UpstreamRequest } from "../UpstreamRequest.ts"

/** Absent fields are unknown. */
export interface RemotePage {
  readonly markdown: string
  readonly url?: string | null | undefined
  readonly title?: string | null | undefined
  readonly description?: string | null | undefined
  readonly author?: string | null | undefined
  readonly siteName?: string | null | undefined
  readonly published?: string | null | undefined
  readonly language?: string | null | undefined
}

export type RemoteOutcome = RemotePage | { readonly reason: UnreadableReason; readonly httpStatus?: number | undefined }

export interface ReaderApi<A> {
  readonly url: string
  readonly needsKey: boolean
  readonly request: (
    page: URL,
    to: { readonly url: string; readonly key: Redacted.Redacted | undefined; readonly timeoutMs: number }
  ) => UpstreamRequest
  readonly response: Schema.ConstraintDecoder<A>
  readonly outcome: (response: A) => RemoteOutcome
  readonly dialect?: Upstream.Dialect
}

export type ReaderType = (
  name: string,
  options: unknown,
  rules: AddressRules
) => Effect.Effect<RemoteReader, EntryInvalid, UpstreamClient | Pacer>

const maxMetadataUnits = 1_000

const metadata = (text: string | null | undefined): string | null => {
  const shown = visibleText(text ?? "")
    .trim()
    .slice(0, maxMetadataUnits)
  return shown === "" ? null : shown
}

const toParsed = (page: RemotePage): ParsedPage => {
  const markdown = visibleText(page.markdown).trim()
  return {
    title: metadata(page.title),
    description: metadata(page.description),
    author: metadata(page.author),
    siteName: metadata(page.siteName),
    published: metadata(page.published),
    language: metadata(page.language),
    mediaType: "text/html",
    markdown,
    text: plainText(markdown),
    links: []
  }
}

const isWebAddress = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? "")

const timedOut = new UpstreamTimeout({ message: "The service that reads pages did not respond in time." })
const failed = new UpstreamError({ message: "The service that reads pages could not be used." })
const notAsked = new UpstreamError({
  message:
    "No service that reads pages was asked, because all of them are cooling down after errors or at their call limits. " +
    "Nothing was charged; try again in a minute.",
  unsent: true
})

const usualPorts: ReadonlySet<string> = new Set(["", "80", "443"])

/** The reader may be in a private network, so Quarry checks addresses as if it fetched them itself (R59). */
const checkAddress = (url: URL, rules: AddressRules): Effect.Effect<void, PageUnreadable> => {
  if (!rules.allowsPrivate && !usualPorts.has(url.port))
    return Effect.fail(PageUnreadable.because("address_not_allowed"))
  return Effect.catchTag(Effect.asVoid(allowedAddresses(url, rules)), "HostNotAllowed", ({ isUnresolved }) =>
    Effect.fail(PageUnreadable.because(isUnresolved ? "unreachable" : "address_not_allowed"))
  )
}

const toFailure = (name: string, refusal: Refusal, isSent: boolean): Effect.Effect<never, ReadFailure> =>
  Effect.andThen(
    Effect.logWarning(`Reader ${name} failed (${refusal.reason}): ${refusal.message}`),
    Effect.fail(!isSent ? notAsked : refusal.reason === "timeout" ? timedOut : failed)
  )

const Options = (needsKey: boolean) =>
  Schema.Struct({
    url: Schema.optionalKey(address.url),
    insecure: address.insecure,
    ...ApiKeys.options,
    ...Gate.options
  }).check(requirePrivacy, ApiKeys.oneWay(needsKey))

const toCopy = (name: string, url: URL, outcome: RemoteOutcome, fetchedAt: number) => {
  if ("reason" in outcome) return Effect.fail(PageUnreadable.because(outcome.reason, outcome.httpStatus))
  const page = toParsed(outcome)
  if (page.markdown === "") return Effect.fail(PageUnreadable.because("no_text"))
  const finalUrl =
    outcome.url !== undefined && outcome.url !== null && isWebAddress(outcome.url) ? outcome.url : url.href
  const bytes = Buffer.byteLength(outcome.markdown)
  return Effect.succeed<PageCopy>({ finalUrl, fetchedAt, bytes, reader: name, page })
}

export const type = <A>(api: ReaderApi<A>): ReaderType => {
  const decodeOptions = decode(Options(api.needsKey))
  const decodeResponse = Schema.decodeUnknownEffect(api.response)
  return Effect.fnUntraced(function* (name, given, rules) {
    const options = yield* decodeOptions(`providers.${name}`, given)
    const gate = yield* Gate.make(name, options)
    const ask = yield* Upstream.make({ gate, ...(api.dialect === undefined ? {} : { dialect: api.dialect }) })
    const base = (options.url ?? api.url).replace(/\/+$/, "")
    const keys = ApiKeys.keysOf(options)
    const withKey = ApiKeys.make(name, keys)

    const call = (page: URL, timeoutMs: number, turn: Turn, key: Redacted.Redacted | undefined) =>
      Effect.flatMap(ask(api.request(page, { url: base, key, timeoutMs }), turn), (json) =>
        Effect.mapError(
          decodeResponse(json),
          () => new Refusal({ reason: "malformed", message: "its response is not the documented JSON" })
        )
      )

    return {
      name,
      read: Effect.fn("PageReaders.read", { kind: "client" })(function* (url: URL, timeout: Duration.Duration) {
        yield* checkAddress(url, rules)
        const timeoutMs = Duration.toMillis(timeout)
        let isSent = false
        const turn: Turn = {
          ...unsharedTurn(timeoutMs),
          send: () => {
            isSent = true
            return undefined
          }
        }
        const response = yield* (
          keys.length === 0 ? call(url, timeoutMs, turn, undefined) : withKey((key) => call(url, timeoutMs, turn, key))
        ).pipe(
          Effect.catch((refusal) => toFailure(name, refusal, isSent)),
          Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(isSent ? timedOut : notAsked) })
        )
        return yield* toCopy(name, url, api.outcome(response), yield* Clock.currentTimeMillis)
      })
    }
  })
}

/** `status` is the site's, as reported by the reader. Undefined for 2xx. */
export const reasonOfSiteStatus = (status: number | undefined): UnreadableReason | undefined => {
  if (status === undefined || (status >= 200 && status < 300)) return undefined
  if (status === 404 || status === 410) return "not_found"
  return [401, 402, 403, 407, 429, 451].includes(status) ? "forbidden" : "site_error"
}
