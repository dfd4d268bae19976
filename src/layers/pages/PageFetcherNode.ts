import { type Duration, Effect, Layer } from "effect"
import { PageUnreadable } from "../../domain/errors.ts"
import type { Payer } from "../../domain/fairness/Payers.ts"
import { parseAddress } from "../../domain/net/address.ts"
import { hostOf } from "../../domain/net/Network.ts"
import { kindOf, readMediaType } from "../../domain/pages/mediaType.ts"
import { maxPageBytes } from "../../domain/pages/Page.ts"
import { allowsPage } from "../../domain/pages/robots.ts"
import { isDownload } from "../../domain/pages/sniff.ts"
import type { UnreadableReason } from "../../domain/UnreadableReason.ts"
import { FairSlots } from "../../services/fairness/FairSlots.ts"
import { type FetchOptions, PageFetcher } from "../../services/pages/PageFetcher.ts"
import type { AddressRules, HostNotAllowed } from "../outgoing/Addresses.ts"
import { acceptedCodings, codingOf } from "../outgoing/ContentCoding.ts"
import * as Exchange from "../outgoing/Exchange.ts"
import { HostTurns } from "./HostTurns.ts"
import { makeRobotsFiles, type RobotsFiles } from "./RobotsFiles.ts"

export interface SendOptions extends AddressRules {
  readonly userAgent: string
  /** Also permits any port. */
  readonly allowsPrivate: boolean
  readonly ports?: ReadonlySet<string> | undefined
}

export interface PageFetcherOptions extends SendOptions {
  readonly obeysRobots: boolean
}

/** Maximum redirects, for a page and for robots.txt (RFC 9309, 2.3.1.2). */
const maxRedirects = 5

export const limitsOf = (timeout: Duration.Duration, maxBodyBytes: number): Exchange.ExchangeLimits => ({
  timeout,
  maxBodyBytes,
  // Allows for TLS, head and framing, but not for a body in tiny chunks, which would take a second of CPU time.
  maxReceivedBytes: maxBodyBytes + 1024 * 1024
})

/** A visit includes redirects. */
interface Visit {
  readonly payer: Payer
  readonly timeout: Duration.Duration
  status: number | undefined
  readonly conditions: Readonly<Record<string, string>>
  readonly maxFileBytes: number | undefined
}

const conditionsOf = ({ etag, lastModified }: FetchOptions): Visit["conditions"] => ({
  ...(etag === undefined ? {} : { "if-none-match": etag }),
  ...(lastModified === undefined ? {} : { "if-modified-since": lastModified })
})

type Send = (
  request: Omit<Exchange.OutgoingRequest, "method" | "headers"> &
    Pick<Visit, "payer"> &
    Partial<Pick<Visit, "conditions">>,
  limits: Exchange.ExchangeLimits
) => Effect.Effect<Exchange.OutgoingResponse, PageUnreadable>

interface Deps {
  readonly send: Send
  readonly robots: RobotsFiles | undefined
}

const unreadable = (reason: UnreadableReason, { status }: Pick<Visit, "status">) =>
  Effect.fail(PageUnreadable.because(reason, status))

/** The port of a URL is empty if it is the default of the protocol. */
const usualPorts: ReadonlySet<string> = new Set(["", "80", "443"])

const reasonOf = ({ limit }: Exchange.ExchangeFailed): UnreadableReason =>
  limit === undefined ? "unreachable" : limit === "bytes" ? "too_large" : "timed_out"

const notAllowed = ({ isUnresolved }: HostNotAllowed) =>
  Effect.fail(PageUnreadable.because(isUnresolved ? "unreachable" : "address_not_allowed"))

/** Per process. Each fetch can take 10 MiB of memory. */
const maxFetches = 64

const maxWaiting = { items: 1_000, bytes: Number.POSITIVE_INFINITY }

const acceptedTypes = "text/html,application/xhtml+xml,application/pdf,text/markdown;q=0.9,text/plain;q=0.8,*/*;q=0.5"

/** A request holds one of `slots` only while it runs, and starts when its host may be asked. */
export const makeSend = (
  { ports = usualPorts, userAgent, ...rules }: SendOptions,
  { accept, slots: count }: { readonly accept: string; readonly slots: number }
): Send => {
  const turns = new HostTurns()
  const slots = new FairSlots({
    slots: count,
    slotsPerAccount: count / 4,
    waiting: maxWaiting,
    full: PageUnreadable.because("timed_out")
  })
  const headers = {
    "user-agent": userAgent,
    accept,
    "accept-language": "*",
    "accept-encoding": acceptedCodings
  }
  return ({ conditions, payer, ...request }, limits) => {
    if (!rules.allowsPrivate && !ports.has(request.url.port))
      return Effect.fail(PageUnreadable.because("address_not_allowed"))
    return Exchange.exchange({ ...request, method: "GET", headers: { ...headers, ...conditions } }, rules, limits).pipe(
      Effect.catchTags({
        HostNotAllowed: notAllowed,
        ExchangeFailed: (failed) => Effect.fail(PageUnreadable.because(reasonOf(failed)))
      }),
      slots.inSlot(payer, turns.gateOf(hostOf(request.url)))
    )
  }
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** Node reads a header as Latin-1. Browsers and curl send its bytes on as they are, usually UTF-8. */
const escapeBytes = (location: string): string =>
  location.replaceAll(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`)

/** The target of a redirect, without credentials. Undefined if the response has none. */
const targetOf = ({ header, status }: Exchange.ResponseHead, from: URL): URL | undefined => {
  const location = redirects.has(status) ? header("location") : undefined
  const to = location === undefined ? null : parseAddress(escapeBytes(location), from.href)
  if (to === null || !/^https?:$/.test(to.protocol)) return undefined
  to.username = ""
  to.password = ""
  to.hash = ""
  return to
}

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** Undefined after too many redirects. */
const follow = Effect.fnUntraced(function* (
  from: URL,
  hop: (url: URL) => Effect.Effect<Exchange.OutgoingResponse, PageUnreadable>
) {
  const seen = new Set<string>()
  let url = from
  while (!seen.has(url.href) && seen.size <= maxRedirects) {
    seen.add(url.href)
    const response = yield* hop(url)
    const next = targetOf(response, url)
    if (next === undefined) return { url, response }
    url = next
  }
  return undefined
})

const reasonOfStatus = (status: number): UnreadableReason => {
  if (status === 404 || status === 410) return "not_found"
  return [401, 402, 403, 407, 429, 451].includes(status) ? "forbidden" : "site_error"
}

/** True for a readable media type. If the type says nothing, the parser decides from the bytes. */
const isReadable = ({ header }: Exchange.ResponseHead, { maxFileBytes }: Visit): boolean => {
  const type = readMediaType(header("content-type") ?? "")
  const mayHaveText = maxFileBytes !== undefined || isDownload(type) || kindOf(type.name) !== undefined
  return mayHaveText && codingOf(header("content-encoding")) !== undefined
}

const hop = ({ robots, send }: Deps, visit: Visit) =>
  Effect.fnUntraced(function* (url: URL) {
    visit.status = undefined
    const rules = yield* robots?.rulesFor(url, visit.payer, visit.timeout) ?? Effect.succeed([])
    if (!allowsPage(rules, url)) return yield* unreadable("robots_disallowed", visit)
    const wantsBody = (head: Exchange.ResponseHead): boolean => {
      visit.status = head.status
      return isSuccess(head.status) && isReadable(head, visit)
    }
    const limits = limitsOf(visit.timeout, visit.maxFileBytes ?? maxPageBytes)
    return yield* send({ url, wantsBody, payer: visit.payer, conditions: visit.conditions }, limits)
  })

const fetchPage = Effect.fnUntraced(function* (deps: Deps, from: URL, visit: Visit) {
  const found = yield* follow(from, hop(deps, visit)).pipe(Effect.catch(({ reason }) => unreadable(reason, visit)))
  if (found === undefined) return yield* unreadable("too_many_redirects", visit)
  const { response, url } = found
  if (!isSuccess(response.status)) return yield* unreadable(reasonOfStatus(response.status), visit)
  if (!isReadable(response, visit)) return yield* unreadable("unsupported_media_type", visit)
  return {
    finalUrl: url.href,
    status: response.status,
    contentType: response.header("content-type"),
    etag: response.header("etag"),
    lastModified: response.header("last-modified"),
    robotsTags: response.lines("x-robots-tag"),
    bytes: response.body
  }
})

export const layer = (options: PageFetcherOptions): Layer.Layer<PageFetcher> =>
  Layer.effect(
    PageFetcher,
    Effect.gen(function* () {
      const send = makeSend(options, { accept: acceptedTypes, slots: maxFetches })
      const get = (url: URL, payer: Payer, timeout: Duration.Duration, maxBytes: number) =>
        follow(url, (url) => send({ url, payer }, { ...limitsOf(timeout, maxBytes), cutsBody: true }))
      const robots = options.obeysRobots ? yield* makeRobotsFiles(get) : undefined
      return PageFetcher.of({
        fetch: Effect.fn("PageFetcher.fetch", { kind: "client" })(function* (url, payer, timeout, options = {}) {
          const { maxFileBytes } = options
          const visit: Visit = { payer, timeout, status: undefined, conditions: conditionsOf(options), maxFileBytes }
          return yield* fetchPage({ send, robots }, url, visit).pipe(
            Effect.timeoutOrElse({ duration: timeout, orElse: () => unreadable("timed_out", visit) })
          )
        })
      })
    })
  )
