import { Effect, Layer, Redacted, Result, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { cookieValues } from "../../domain/Credential.ts"
import { Issue, NotFound } from "../../domain/errors.ts"
import {
  authorizationServer,
  authorizationServerPaths,
  authPath,
  canAuthorizeApps,
  confirmPath,
  consentPath,
  failurePath,
  protectedResource,
  protectedResourcePaths,
  signInPath,
  signUpPath
} from "../../domain/OAuth.ts"
import { ownPath } from "../../domain/ownPath.ts"
import { Deployment } from "../../services/Deployment.ts"
import { RateLimiter } from "../../services/RateLimiter.ts"
import { type IdentityProvider, Sessions } from "../../services/Sessions.ts"
import { readAnonymous } from "../body.ts"
import { undeclaredResponse } from "../errors.ts"
import { limitByAddress } from "../middleware/addressLimit.ts"
import { clientAddress } from "../middleware/clientAddress.ts"
import { isOwnPage } from "../ownPage.ts"
import * as pages from "../pages/pages.ts"
import { style } from "../pages/style.ts"

/**
 * What apps read about signing in, and the pages where people let them in. The sign-in library does the work, asked as a
 * browser asks it; its answers become pages and redirects.
 */

const nowhere = undeclaredResponse(new NotFound({ message: "No app is let in at this deployment." }))

/** Where a provider takes its part of a sign-in: a form may lead there. */
const providerOrigins: Readonly<Record<IdentityProvider, string>> = {
  google: "https://accounts.google.com",
  github: "https://github.com"
}

/** A page that no other site can frame, script, style or send elsewhere, and that nobody keeps. */
const pageResponse = (page: pages.Page, status = 200, formTargets: ReadonlyArray<string> = []) =>
  HttpServerResponse.text(pages.documentOf(page), {
    status,
    contentType: "text/html; charset=utf-8",
    headers: {
      "content-security-policy": `default-src 'none'; style-src 'self'; img-src data:; form-action ${["'self'", ...formTargets].join(" ")}; base-uri 'none'; frame-ancestors 'none'`,
      "x-frame-options": "DENY",
      "x-content-type-options": "nosniff",
      // The address holds a signed request. A stricter policy would take the Origin off the forms.
      "referrer-policy": "same-origin",
      "cache-control": "no-store"
    }
  })

const failed = (status: number, heading: string, text: string) => pageResponse(pages.saying(heading, text), status)

const expired = failed(
  400,
  "This request is over",
  "It is good for ten minutes, and for one answer. Go back to the app and connect it again."
)

const foreign = failed(400, "This did not come from our page", "Go back to the app and connect it again.")

const tooMany = failed(429, "Too many attempts", "Wait a minute, then try again.")

/** What the library, or whoever it asked, calls the failures that end on a page of ours. */
const failures: Readonly<Record<string, readonly [heading: string, text: string]>> = {
  invalid_client: ["Quarry does not know this app", "It may have been idle for too long. Connect it again."],
  invalid_redirect: [
    "The app asked for an answer elsewhere",
    "It named an address that it did not register, so nothing was sent there."
  ],
  invalid_request: ["The app asked in a way that is not safe", "It asks again when you connect it again."],
  invalid_target: [
    "The app asked for something else",
    "Connect it with the address of this deployment's MCP endpoint."
  ],
  access_denied: ["You were not signed in", "The sign-in was cancelled. Go back to the app to try again."]
}

const unknownFailure = ["That did not work", "Go back to the app and connect it again."] as const

const asNext = Schema.Struct({ url: Schema.String })
const asApp = Schema.Struct({ client_name: Schema.optionalKey(Schema.String) })
const asRefusal = Schema.Struct({
  message: Schema.NonEmptyString,
  issues: Schema.optionalKey(Schema.Array(Issue))
})

const read = <A>(schema: Schema.Codec<A, unknown>, text: string): A | undefined => {
  const read = Schema.decodeUnknownResult(Schema.fromJsonString(schema))(text)
  return Result.isSuccess(read) ? read.success : undefined
}

/** The address that an app is answered at, as a person reads it, and as a form may lead there. */
const destinationOf = (redirect: string): { readonly shown: string; readonly source: string } => {
  const url = URL.parse(redirect)
  if (url === null) return { shown: "", source: "'self'" }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return { shown: `an app on this device (${url.protocol})`, source: url.protocol }
  }
  // A policy cannot name an IPv6 address, and a host may hold what would begin another of its directives.
  const source = /^https?:\/\/[a-z0-9.-]+(?::\d+)?$/.test(url.origin) ? url.origin : url.protocol
  return { shown: url.protocol === "http:" ? `an app on this device (${url.host})` : url.host, source }
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly cookies: ReadonlyArray<string>
  /** Where the browser is to go next. */
  readonly next: string | undefined
}

/** Asks the library on behalf of the browser whose request this is. */
const ask = Effect.fnUntraced(function* (path: string, body: object) {
  const sessions = yield* Sessions
  const { origin } = yield* Deployment
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const sent = new Headers({ "content-type": "application/json", accept: "application/json", origin })
  for (const name of ["cookie", "user-agent"] as const) {
    const value = headers[name]
    if (value !== undefined) sent.set(name, value)
  }
  const request = new Request(`http://quarry.invalid${authPath}${path}`, {
    method: "POST",
    headers: sent,
    body: JSON.stringify(body)
  })
  const response = yield* sessions.handle(request, yield* clientAddress)
  const text = yield* Effect.promise(() => response.text())
  const answer: Answer = {
    status: response.status,
    text,
    cookies: response.headers.getSetCookie(),
    // An answer in words wins: the header is where the sign-in would lead if no app waited behind it.
    next: read(asNext, text)?.url ?? response.headers.get("location") ?? undefined
  }
  return answer
})

const redirect = (location: string, cookies: ReadonlyArray<string> = []) => {
  const headers = new Headers({ location, "cache-control": "no-store", "referrer-policy": "no-referrer" })
  for (const cookie of cookies) headers.append("set-cookie", cookie)
  return HttpServerResponse.fromWeb(new Response(null, { status: 303, headers }))
}

/** What a signed request asks for; a page where it is forged or over, or its app is gone. */
const askingOf = Effect.fnUntraced(function* (signed: string) {
  const query = new URLSearchParams(signed)
  const answer = yield* ask("/oauth2/public-client-prelogin", {
    client_id: query.get("client_id") ?? "",
    oauth_query: signed
  })
  if (answer.status === 429) return tooMany
  if (answer.status === 404) return failed(400, ...(failures.invalid_client ?? unknownFailure))
  if (answer.status !== 200) return expired
  const { shown, source } = destinationOf(query.get("redirect_uri") ?? "")
  const asking: pages.Asking = {
    request: signed,
    app: read(asApp, answer.text)?.client_name ?? "An app without a name",
    destination: shown
  }
  return { asking, source }
})

const signInPage = Effect.fnUntraced(function* (asking: pages.Asking, status = 200, filled: pages.Filled = {}) {
  const { providers } = yield* Sessions
  const page = pages.signIn({ asking, providers, ...filled })
  return pageResponse(
    page,
    status,
    providers.map((provider) => providerOrigins[provider])
  )
})

/** A signed request, written as an address can hold it: it came from a browser, in any spelling that reads the same. */
const spelled = (signed: string): string => new URLSearchParams(signed).toString()

/** What is behind a page's own `?`. */
const signedOf = (url: string): string => spelled(url.slice(`${url}?`.indexOf("?") + 1))

const showSignIn = Effect.gen(function* () {
  const { url } = yield* HttpServerRequest.HttpServerRequest
  const found = yield* askingOf(signedOf(url))
  return "asking" in found ? yield* signInPage(found.asking) : found
})

/** Who is signed in to the browser, by the account that an app would use. */
const signedIn = Effect.gen(function* () {
  const sessions = yield* Sessions
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const [cookie, second] = cookieValues(headers.cookie, sessions.cookieName)
  if (cookie === undefined || second !== undefined) return undefined
  const principal = yield* Effect.option(sessions.authenticate(Redacted.make(cookie)))
  return principal._tag === "Some" ? principal.value.account : ("refused" as const)
})

const showConsent = Effect.gen(function* () {
  const { url } = yield* HttpServerRequest.HttpServerRequest
  const signed = signedOf(url)
  const found = yield* askingOf(signed)
  if (!("asking" in found)) return found
  const account = yield* signedIn
  if (account === undefined) return redirect(`${signInPath}?${signed}`)
  if (account === "refused") {
    return yield* signInPage(found.asking, 401, {
      failure: "Your sign-in is over, or has no Quarry account behind it. Sign in to go on."
    })
  }
  return pageResponse(pages.consent({ asking: found.asking, email: account.email }), 200, [found.source])
})

/** The fields of a form of ours; undefined when another page sent it. */
const formOf = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  const { origin } = yield* Deployment
  if (!isOwnPage(request.headers, origin)) return undefined
  yield* limitByAddress(yield* RateLimiter)
  return new URLSearchParams(yield* readAnonymous(request))
})

/** Fields of the library as the pages call them. */
const fieldNames: Readonly<Record<string, string>> = {
  email: "The email",
  password: "The password",
  newPassword: "The password"
}

const sayingWhy = (answer: Answer): string => {
  if (answer.status === 429) return "Too many attempts. Wait a few minutes, then try again."
  if (answer.status === 401) return "The email or the password is not right."
  if (answer.status === 403) return "Confirm your address first: the link is in your mail. Then sign in here."
  const refusal = read(asRefusal, answer.text)
  const [issue] = refusal?.issues ?? []
  if (issue !== undefined && Object.hasOwn(fieldNames, issue.field)) {
    return `${fieldNames[issue.field]} ${issue.message}.`
  }
  return refusal?.message ?? "Signing in was refused."
}

/**
 * Of a signed request that waits for a person to come back from a provider: the library keeps it in a cookie, at more
 * than twice its length, and browsers keep cookies up to 4096. Those of common apps have about 800.
 */
export const maxCarriedCharacters = 1_600

const takeSignIn = Effect.gen(function* () {
  const form = yield* formOf
  if (form === undefined) return foreign
  const signed = spelled(form.get("request") ?? "")
  const found = yield* askingOf(signed)
  if (!("asking" in found)) return found
  const provider = form.get("provider")
  const email = form.get("email") ?? ""
  if (provider !== null && signed.length > maxCarriedCharacters) {
    return yield* signInPage(found.asking, 400, {
      failure: `The request of ${found.asking.app} is too long to be kept while you are there. Sign in with a password.`
    })
  }
  const answer = yield* provider === null
    ? ask("/sign-in/email", {
        email,
        password: form.get("password") ?? "",
        callbackURL: `${signInPath}?${signed}`,
        oauth_query: signed
      })
    : ask("/sign-in/social", {
        provider,
        // Enough to go on from: the library would keep what is signed a second time.
        callbackURL: `${consentPath}?${signed}`,
        errorCallbackURL: failurePath
      })
  if (answer.status < 400 && answer.next !== undefined) return redirect(answer.next, answer.cookies)
  return yield* signInPage(found.asking, statusOf(answer), { email, failure: sayingWhy(answer) })
})

/** How a refusal of the library is answered: with one of our statuses (R3). */
const statusOf = ({ status }: Answer): number =>
  status === 403 ? 401 : status === 401 || status === 429 ? status : 400

const showSignUp = Effect.gen(function* () {
  const { url } = yield* HttpServerRequest.HttpServerRequest
  const found = yield* askingOf(signedOf(url))
  return "asking" in found ? pageResponse(pages.signUp({ asking: found.asking })) : found
})

const takeSignUp = Effect.gen(function* () {
  const form = yield* formOf
  if (form === undefined) return foreign
  const signed = spelled(form.get("request") ?? "")
  const found = yield* askingOf(signed)
  if (!("asking" in found)) return found
  const email = form.get("email") ?? ""
  const answer = yield* ask("/sign-up/email", {
    email,
    name: email.split("@", 1).join(""),
    password: form.get("password") ?? "",
    callbackURL: `${signInPath}?${signed}`,
    oauth_query: signed
  })
  if (answer.status >= 400) {
    return pageResponse(pages.signUp({ asking: found.asking, email, failure: sayingWhy(answer) }), statusOf(answer))
  }
  if (answer.next !== undefined) return redirect(answer.next, answer.cookies)
  return pageResponse(
    pages.saying("Read your mail", "We have sent you a link. It confirms your address, and brings you back to sign in.")
  )
})

const takeConsent = Effect.gen(function* () {
  const form = yield* formOf
  if (form === undefined) return foreign
  const signed = spelled(form.get("request") ?? "")
  const answer = yield* ask("/oauth2/consent", { accept: form.get("decision") === "allow", oauth_query: signed })
  if (answer.status < 400 && answer.next !== undefined) return redirect(answer.next, answer.cookies)
  if (answer.status === 401) return redirect(`${signInPath}?${signed}`)
  return answer.status === 429 ? tooMany : expired
})

/** Where the links of confirmations lead that named no page of ours. */
const landing = "/dashboard"

/** What of a link or a form names the person and where they go on to. */
const confirmingOf = Effect.fnUntraced(function* (fields: URLSearchParams, next: string) {
  const { origin } = yield* Deployment
  return { token: fields.get("token") ?? "", next: ownPath(fields.get(next) || landing, origin) ?? landing }
})

const showConfirm = Effect.gen(function* () {
  const { url } = yield* HttpServerRequest.HttpServerRequest
  return pageResponse(pages.confirm(yield* confirmingOf(new URLSearchParams(signedOf(url)), "callbackURL")))
})

const takeConfirm = Effect.gen(function* () {
  const form = yield* formOf
  if (form === undefined) return foreign
  const confirming = yield* confirmingOf(form, "next")
  const answer = yield* ask("/reset-password", {
    token: confirming.token,
    newPassword: form.get("password") ?? ""
  })
  if (answer.status < 400) return redirect(confirming.next, answer.cookies)
  const [issue] = read(asRefusal, answer.text)?.issues ?? []
  if (issue?.field === "token") {
    return failed(400, "This link is over", "It is good once and for an hour. Sign in, and another is sent.")
  }
  return pageResponse(pages.confirm({ ...confirming, failure: sayingWhy(answer) }), statusOf(answer))
})

const showFailure = Effect.gen(function* () {
  const { url } = yield* HttpServerRequest.HttpServerRequest
  const code = new URLSearchParams(signedOf(url)).get("error") ?? ""
  return failed(400, ...(Object.hasOwn(failures, code) ? (failures[code] ?? unknownFailure) : unknownFailure))
})

const metadata = (document: object) =>
  HttpServerResponse.jsonUnsafe(document, {
    // Read by apps in browsers too. There is nothing in it that is not for everybody.
    headers: { "access-control-allow-origin": "*", "cache-control": "public, max-age=300" }
  })

export const layer = Layer.unwrap(
  Effect.gen(function* () {
    const { origin } = yield* Deployment
    const sessions = yield* Sessions
    const limiter = yield* RateLimiter
    const offered = canAuthorizeApps(origin)

    type Shown = Effect.Effect<
      HttpServerResponse.HttpServerResponse,
      Effect.Error<typeof takeSignIn>,
      Effect.Services<typeof takeSignIn>
    >
    const shown = (effect: Shown) =>
      effect.pipe(
        Effect.provideService(Sessions, sessions),
        Effect.provideService(RateLimiter, limiter),
        Effect.catchTag("rate_limited", () => Effect.succeed(tooMany)),
        Effect.catchTag(["not_found", "invalid_request"], undeclaredResponse)
      )
    const page = (effect: Shown) => (offered ? shown(effect) : nowhere)
    const documents = (paths: ReadonlyArray<`/${string}`>, document: object) =>
      paths.map((path) => HttpRouter.add("GET", path, offered ? Effect.succeed(metadata(document)) : nowhere))

    const stylesheet = HttpServerResponse.text(style, {
      contentType: "text/css; charset=utf-8",
      headers: { "cache-control": "public, max-age=300", "x-content-type-options": "nosniff" }
    })

    return Layer.mergeAll(
      HttpRouter.add("GET", signInPath, page(showSignIn)),
      HttpRouter.add("POST", signInPath, page(takeSignIn)),
      HttpRouter.add("GET", signUpPath, page(showSignUp)),
      HttpRouter.add("POST", signUpPath, page(takeSignUp)),
      HttpRouter.add("GET", consentPath, page(showConsent)),
      HttpRouter.add("POST", consentPath, page(takeConsent)),
      HttpRouter.add("GET", failurePath, page(showFailure)),
      HttpRouter.add("GET", confirmPath, shown(showConfirm)),
      HttpRouter.add("POST", confirmPath, shown(takeConfirm)),
      HttpRouter.add("GET", pages.stylePath, stylesheet),
      ...documents(protectedResourcePaths, protectedResource(origin)),
      ...documents(authorizationServerPaths, authorizationServer(origin))
    )
  })
)
