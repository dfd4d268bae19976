import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { text as readText } from "node:stream/consumers"
import { Duration, Effect } from "effect"
import { neededEvents } from "../../../src/layers/billing/PolarCheck.ts"
import { Deliveries, type Levers } from "./Deliveries.ts"
import { answerFault } from "./Document.ts"
import { Model, missing, productIds, Refused } from "./Model.ts"
import type { Checkout, Customer, Dispute } from "./objects.ts"
import * as pages from "./pages.ts"
import { checkBody, idIn, type Route, routes } from "./Routes.ts"

/**
 * A fake of Polar: its API on a loopback port, payment pages, signed deliveries, a clock that can be advanced, and
 * controls for faults. Each response is validated against Polar's own document, and mismatches are collected in
 * `faults`.
 */

export const accessToken = "polar_oat_fake_token"
export const webhookSecret = "whsec_QuarryTestSecret0123456789abcdef"

/** A fault of the API. `on` is part of "METHOD /path". Empty matches every call. */
export interface Fault {
  readonly on: string
  readonly kind: "500" | "429" | "silence" | "junk" | "cut" | "redirect" | "huge" | "types" | "reset" | "401"
  /** Number of calls affected. */
  times: number
}

export interface Received {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage["headers"]
  readonly body: unknown
}

export interface FakePolarOptions {
  readonly port?: number
  readonly host?: string
  /** Address that receives deliveries. */
  readonly webhookUrl?: string
  /** Start time of the model's clock. The real time by default. */
  readonly wallClock?: () => number
  /** Seed of everything random. */
  readonly seed?: number
}

/** Random numbers from 0 to 1, reproducible by seed (mulberry32). */
const randomFrom = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

const versions = ["2026-04", "2026-10", "2027-01"]

const json = (response: ServerResponse, status: number, body?: object, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { ...(body === undefined ? {} : { "content-type": "application/json" }), ...headers })
  response.end(body === undefined ? undefined : JSON.stringify(body))
}

const page = (response: ServerResponse, body: string): void => {
  response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(body)
}

const seeOther = (response: ServerResponse, location: string): void => {
  response.writeHead(303, { location }).end()
}

const parsed = (text: string): unknown => {
  try {
    return text === "" ? {} : JSON.parse(text)
  } catch {
    return undefined
  }
}

export class FakePolar {
  readonly model: Model
  readonly deliveries: Deliveries
  /** Responses and deliveries that do not match Polar's document. */
  readonly faults: Array<string> = []
  readonly received: Array<Received> = []
  readonly failures: Array<Fault> = []
  readonly productIds = productIds
  /** Scopes that the token lacks. */
  readonly missingScopes = new Set<string>()
  url = ""
  private readonly server: Server

  constructor({ seed = 1, wallClock = Date.now, webhookUrl }: FakePolarOptions = {}) {
    this.deliveries = new Deliveries(this.faults, randomFrom(seed))
    this.model = new Model((type, data) => this.deliveries.emit(type, data, this.model.now()), wallClock)
    if (webhookUrl !== undefined) this.deliverTo(webhookUrl)
    this.server = createServer((request, response) => void this.respond(request, response))
  }

  deliverTo(url: string): void {
    this.deliveries.endpoint = { url, secret: webhookSecret, enabled: true, events: [...neededEvents] }
  }

  listen(port = 0, host = "127.0.0.1"): Promise<this> {
    return new Promise((resolve, reject) => {
      this.server.once("error", reject)
      this.server.listen(port, host, () => {
        // A listening TCP server's address is an AddressInfo.
        this.url = `http://${host}:${(this.server.address() as AddressInfo).port}`
        resolve(this)
      })
    })
  }

  close(): Promise<void> {
    this.deliveries.close()
    return new Promise((resolve) => {
      this.server.close(() => resolve())
      this.server.closeAllConnections()
    })
  }

  /** The latest checkout, which a test pays without the page. */
  lastCheckout(): Checkout {
    const last = [...this.model.checkouts.values()].at(-1)
    if (last === undefined) throw new Error("Nobody has opened a checkout.")
    return last
  }

  /** Makes calls with this text in "METHOD /path" fail, this many times. */
  fail(kind: Fault["kind"], on = "", times = Number.POSITIVE_INFINITY): void {
    this.failures.push({ kind, on, times })
  }

  mend(): void {
    this.failures.length = 0
  }

  /** Environment variables that make Quarry use this fake. */
  environment(): Record<string, string> {
    const { business, growth, pack, starter } = productIds
    return {
      BILLING_PROVIDER: "polar",
      POLAR_ACCESS_TOKEN: accessToken,
      POLAR_WEBHOOK_SECRET: webhookSecret,
      POLAR_BASE_URL: this.url,
      POLAR_PRODUCT_STARTER: starter,
      POLAR_PRODUCT_GROWTH: growth,
      POLAR_PRODUCT_BUSINESS: business,
      POLAR_PRODUCT_PACK: pack
    }
  }

  private async respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.url)
    const text = await readText(request)
    try {
      this.model.catchUp()
      if (url.pathname.startsWith("/v1/")) this.api(request, response, url, text)
      else if (url.pathname.startsWith("/fake/")) await this.control(request, response, url, text)
      else this.person(request, response, url, new URLSearchParams(text))
    } catch (error) {
      if (error instanceof Refused) return json(response, error.status, error.body)
      this.faults.push(String(error instanceof Error ? error.stack : error))
      json(response, 500, { detail: "Internal Server Error" })
    }
  }

  private api(request: IncomingMessage, response: ServerResponse, url: URL, text: string): void {
    const method = request.method ?? ""
    const body = parsed(text)
    this.received.push({ method, path: url.pathname, query: url.searchParams, headers: request.headers, body })
    const fault = this.failures.find(({ on, times }) => times > 0 && `${method} ${url.pathname}`.includes(on))
    const version = request.headers["polar-version"]
    const route = routes.find((it) => it.method === method && idIn(it, url.pathname) !== undefined)
    if (fault !== undefined) {
      fault.times -= 1
      spoil(fault.kind, response)
    } else if (route === undefined || (version !== undefined && !versions.includes(`${version}`))) {
      json(response, 404, { detail: "Not Found" })
    } else if (request.headers.authorization !== `Bearer ${accessToken}`) {
      json(response, 401, { error: "invalid_token", detail: "The access token is invalid." })
    } else this.run(route, idIn(route, url.pathname) ?? "", url, body, response)
  }

  private run(route: Route, id: string, url: URL, body: unknown, response: ServerResponse): void {
    const answer = () => {
      if (this.missingScopes.has(route.scope)) {
        return { status: 403, json: { error: "insufficient_scope", detail: "Insufficient scope" } }
      }
      try {
        if (typeof body !== "object" || body === null) throw new Refused(422, "RequestValidationError", [])
        checkBody(route, body)
        const { deliveries, model, url: origin } = this
        return route.run({ id, query: url.searchParams, body: { ...body }, model, deliveries, origin })
      } catch (error) {
        if (error instanceof Refused) return { status: error.status, json: error.body }
        throw error
      }
    }
    const { json: sent, status } = answer()
    const fault = answerFault(route.method, route.path, status, sent)
    if (fault !== undefined) this.faults.push(`${route.method} ${url.pathname}: ${fault}`)
    json(response, status, sent, { "polar-version": "2026-10" })
  }

  /** The pages for the user's browser. */
  private person(request: IncomingMessage, response: ServerResponse, url: URL, form: URLSearchParams): void {
    const [, room, secret = "", action] = url.pathname.split("/")
    if (room === "") page(response, pages.controlPage(this.model, this.faults))
    else if (room === "checkout") this.checkout(response, secret, action)
    else if (room === "portal") this.portal(request, response, secret, form)
    else json(response, 404, { detail: "Not Found" })
  }

  private checkout(response: ServerResponse, secret: string, action: string | undefined): void {
    const checkout = [...this.model.checkouts.values()].find(({ clientSecret }) => clientSecret === secret)
    if (checkout === undefined) throw missing()
    if (action === "pay" && this.model.pay(checkout.id)) {
      seeOther(response, checkout.successUrl.replaceAll("{CHECKOUT_ID}", checkout.id))
    } else {
      const message = action === undefined ? "" : "The payment was declined."
      page(response, pages.checkoutPage(this.model, checkout, message))
    }
  }

  private portal(request: IncomingMessage, response: ServerResponse, token: string, form: URLSearchParams): void {
    const session = this.model.sessions.get(token)
    if (session === undefined || this.model.now() > session.expiresAt) throw missing()
    const id = form.get("id") ?? ""
    const action = request.method === "POST" ? form.get("action") : null
    if (action === "card") this.model.setCard(session.customerId, form.get("card") === "pays" ? "pays" : "declines")
    if (action === "cancel" || action === "uncancel") this.model.setCancel(id, action === "cancel")
    if (action === "change") this.model.changeProduct(id, form.get("product") ?? "", "prorate")
    page(response, pages.portalPage(this.model, session))
  }

  /**
   * The controls over HTTP: accepts a form or JSON object, returns the state. A browser is redirected to the control
   * page.
   */
  private async control(request: IncomingMessage, response: ServerResponse, url: URL, text: string): Promise<void> {
    const isJson = request.headers["content-type"]?.includes("json") === true
    const body = isJson ? parsed(text) : Object.fromEntries(new URLSearchParams(text))
    if (request.method === "POST") {
      const fields: Record<string, unknown> = typeof body === "object" && body !== null ? { ...body } : {}
      await this.pull(url.pathname.slice("/fake/".length), fields)
      if (!isJson) return seeOther(response, "/")
    }
    const { customers, disputes, orders, refunds, subscriptions } = this.model
    const listed = { customers, subscriptions, orders, refunds, disputes, checkouts: this.model.checkouts }
    const state = Object.fromEntries(Object.entries(listed).map(([name, map]) => [name, [...map.values()]]))
    json(response, 200, { now: this.model.now(), ...state, events: this.deliveries.events, faults: this.faults })
  }

  private async pull(lever: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
    const id = String(fields.id ?? "")
    const levers: { readonly [name: string]: (() => unknown) | undefined } = {
      clock: () =>
        fields.to === undefined
          ? this.model.advance(Duration.toMillis(Duration.fromInputUnsafe(String(fields.by) as Duration.Input)))
          : this.model.advanceTo(Date.parse(String(fields.to))),
      pay: () => this.model.pay(id),
      // The casts are unchecked, because only tests and developers use these controls.
      card: () => this.model.setCard(id, fields.card as Customer["card"]),
      refund: () => this.model.refund(id, fields.cents === undefined ? undefined : Number(fields.cents)),
      dispute: () => this.model.dispute(id, fields.status as Dispute["status"]),
      decide: () => this.model.decide(id, fields.status as Dispute["status"]),
      void: () => this.model.voidOrder(id),
      revoke: () => this.model.revoke(id),
      reinstate: () => this.model.reinstate(id),
      cancel: () => this.model.setCancel(id, fields.cancels !== false),
      change: () => this.model.changeProduct(id, String(fields.product), "prorate"),
      webhook: () => this.deliverTo(String(fields.url)),
      levers: () => Object.assign(this.deliveries.levers, fields as Partial<Levers>),
      release: () => this.deliveries.release(fields.order as "made" | "reverse" | "shuffle" | undefined),
      redeliver: () => this.deliveries.redeliver(id),
      fail: () => this.fail(fields.kind as Fault["kind"], String(fields.on ?? ""), Number(fields.times ?? 1)),
      mend: () => this.mend()
    }
    const run = levers[lever]
    if (run === undefined) throw missing()
    await run()
    await this.deliveries.idle()
  }
}

const tenMegabytes = 10 * 1024 * 1024

const spoil = (kind: Fault["kind"], response: ServerResponse): void => {
  const type = { "content-type": "application/json" }
  const spoiled: { readonly [K in Fault["kind"]]: () => unknown } = {
    "500": () => json(response, 500, { detail: "Internal Server Error" }),
    "429": () => json(response, 429, { detail: "Too many requests" }, { "retry-after": "7" }),
    "401": () => json(response, 401, { error: "invalid_token", detail: "The access token is invalid." }),
    silence: () => undefined,
    junk: () => response.writeHead(200, type).end("<!doctype html><p>Welcome"),
    cut: () => response.writeHead(200, type).end('{"items":[{"id":"'),
    redirect: () => response.writeHead(302, { location: "http://127.0.0.1:9/elsewhere" }).end(),
    huge: () => response.writeHead(200, type).end(`"${"x".repeat(tenMegabytes)}"`),
    types: () => json(response, 200, { id: 7, status: ["active"], items: { length: 1 }, pagination: "none" }),
    reset: () => response.socket?.resetAndDestroy()
  }
  spoiled[kind]()
}

/** A fake that listens on a free loopback port until the scope closes. */
export const fakePolar = (options: FakePolarOptions = {}) =>
  Effect.acquireRelease(
    Effect.promise(() => new FakePolar(options).listen(options.port, options.host)),
    (fake) => Effect.promise(() => fake.close())
  )
