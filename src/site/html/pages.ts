import { appQueryOf, type ToolScope } from "../../domain/accounts/OAuth.ts"
import type { Role } from "../../domain/accounts/Role.ts"
import type { SignUpMode } from "../../domain/accounts/signUp.ts"
import { maxBudgetCredits } from "../../domain/credits/Budget.ts"
import { type Html, html } from "../../domain/html.ts"
import type { IdentityProvider } from "../../services/accounts/SignIn.ts"

/** Sign-in and consent pages: plain forms. The script offers passkeys, and says why a browser cannot sign in. */

export const stylePath = "/oauth/style.css"

export type ScriptTarget = Pick<Destination, "origin" | "path">

export interface Page {
  readonly title: string
  /** The place to which the page's script leads on. Undefined for a page without a script. */
  readonly script?: ScriptTarget
  readonly body: Html
}

export const mark = html`<svg viewBox="0 0 24 24" fill="none" aria-hidden="true"><path d="M3 17.5 8.2 7l4 6 2.6-3.6L21 17.5Z" fill="currentColor" opacity=".28"/><path d="M3 17.5 8.2 7l4 6 2.6-3.6L21 17.5M2.5 20.5h19" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></svg>`

/** Shown by the script in place of a page on which the browser cannot sign in. */
const problems = (origin: string): Html => html`<template data-problem="address"><h1>Open Quarry at its own address</h1>
<p class="foot">You opened <strong data-opened></strong>, but the address of this server (<code>BASE_URL</code>) is <strong>${origin}</strong>. Signing in works only there.</p>
<p class="buttons"><a class="button" href="${origin}">Open ${origin}</a></p>
<p class="foot">If that address is wrong, the operator can set <code>BASE_URL</code> to the address that people open.</p></template>
<template data-problem="cookies"><h1>Quarry needs cookies</h1>
<p class="foot">Your browser blocks cookies for this site, so it cannot stay signed in. Allow them in the browser's privacy settings, then reload the page. Quarry sets only the cookie of your session.</p></template>
`

export const scriptPath = "/oauth/sign-in.js"

const scriptOf = ({ origin, path }: ScriptTarget): Html => {
  const app = appQueryOf(path)
  return html`${origin === undefined ? undefined : problems(origin)}<script src="${scriptPath}" defer data-app="${app ?? ""}" data-next="${app === undefined ? path : ""}" data-origin="${origin ?? ""}"></script>
`
}

export const documentOf = ({ body, script, title }: Page): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Quarry</title>
<link rel="icon" type="image/svg+xml" href="/favicon.ico">
<link rel="stylesheet" href="${stylePath}">
</head>
<body>
<main>
<div class="brand">${mark}<span>Quarry</span></div>
${body}
</main>
<footer><a href="/docs">API reference</a></footer>
${script && scriptOf(script)}</body>
</html>
`.text

export interface AppRequest {
  readonly query: string
  readonly appName: string
  /** The host that publishes the app's metadata document. Undefined for an app that registered itself. */
  readonly verifiedHost: string | undefined
  readonly destination: string
  /** True if the redirect leads to the person's device, where any program can receive it. */
  readonly isOnDevice: boolean
}

const noticeBox = (text: string | undefined): Html | undefined =>
  text === undefined ? undefined : html`<p class="notice" role="alert" id="notice">${text}</p>`

const providerMarks: Readonly<Record<IdentityProvider["id"], Html | undefined>> = {
  oidc: undefined,
  google: html`<svg viewBox="0 0 24 24" aria-hidden="true"><path fill="#4285f4" d="M22.5 12.2c0-.8-.1-1.5-.2-2.2H12v4.3h5.9a5 5 0 0 1-2.2 3.3v2.7h3.6c2-1.9 3.2-4.7 3.2-8.1Z"/><path fill="#34a853" d="M12 23c3 0 5.5-1 7.3-2.7l-3.6-2.7a6.7 6.7 0 0 1-10-3.5H2v2.8A11 11 0 0 0 12 23Z"/><path fill="#fbbc05" d="M5.7 14.1a6.6 6.6 0 0 1 0-4.2V7.1H2a11 11 0 0 0 0 9.8l3.7-2.8Z"/><path fill="#ea4335" d="M12 5.4c1.6 0 3.1.6 4.2 1.6l3.2-3.1A11 11 0 0 0 2 7.1l3.7 2.8A6.6 6.6 0 0 1 12 5.4Z"/></svg>`,
  github: html`<svg viewBox="0 0 24 24" fill="currentColor" aria-hidden="true"><path d="M12 1.5a10.5 10.5 0 0 0-3.3 20.5c.5.1.7-.2.7-.5v-1.8c-2.9.6-3.5-1.4-3.5-1.4-.5-1.2-1.2-1.5-1.2-1.5-1-.7.1-.7.1-.7 1 .1 1.6 1.1 1.6 1.1.9 1.6 2.4 1.1 3 .9.1-.7.4-1.1.7-1.4-2.3-.3-4.8-1.2-4.8-5.2 0-1.1.4-2.1 1.1-2.8-.1-.3-.5-1.3.1-2.8 0 0 .9-.3 2.9 1.1a10 10 0 0 1 5.2 0c2-1.4 2.9-1.1 2.9-1.1.6 1.5.2 2.5.1 2.8.7.7 1.1 1.7 1.1 2.8 0 4-2.5 4.9-4.8 5.2.4.3.7 1 .7 1.9v2.9c0 .3.2.6.7.5A10.5 10.5 0 0 0 12 1.5Z"/></svg>`
}

/** The place at which a person continues after signing in: an app's request, or a page of the dashboard. */
export interface Destination {
  /** The folder of the pages that sign in to it. */
  readonly folder: "/oauth" | "/dashboard"
  /** The query that these pages pass on. */
  readonly query: string
  readonly app: AppRequest | undefined
  /** A path of this deployment that leads on with a session. */
  readonly path: string
  /** For the dashboard: the address of this deployment. Sessions count only there. */
  readonly origin: string | undefined
}

type EntryName = "sign-in" | "sign-up" | "forgot-password"

export const linkTo = (name: EntryName, { folder, query }: Destination): string =>
  `${folder}/${name}${query && `?${query}`}`

export interface PreviousForm {
  readonly email?: string | undefined
  readonly notice?: string | undefined
}

const requestField = ({ query }: { readonly query: string }): Html =>
  html`<input type="hidden" name="request" value="${query}">`

const formStart = (name: EntryName, destination: Destination): Html =>
  html`<form method="post" action="${destination.folder}/${name}">
${requestField(destination)}`

/** Opens with the focus, and with the notice as its description if there is one. */
const focused = ({ notice }: PreviousForm): Html =>
  notice === undefined ? html` autofocus` : html` autofocus aria-describedby="notice"`

const emailField = (previous: PreviousForm, isFocused = true): Html =>
  html`<label>Email<input type="email" name="email" value="${previous.email ?? ""}" autocomplete="username" required maxlength="320"${isFocused ? focused(previous) : undefined}></label>`

const newPasswordField = html`<label>Password<input type="password" name="password" autocomplete="new-password" required minlength="8" maxlength="128" aria-describedby="rules"></label>
<p class="foot" id="rules">At least 8 characters.</p>`

export interface SignIn extends PreviousForm {
  readonly destination: Destination
  readonly providers: ReadonlyArray<IdentityProvider>
  readonly signUpMode: SignUpMode
  readonly hasPasswords: boolean
}

const providerForm = ({ destination, hasPasswords, providers }: SignIn): Html | undefined =>
  providers.length === 0
    ? undefined
    : html`<form class="apart" method="post" action="${destination.folder}/sign-in">${requestField(destination)}
${providers.map(
  ({ id, name }) =>
    html`<button class="plain" name="provider" value="${id}">${providerMarks[id]}Continue with ${name}</button>
`
)}</form>
${hasPasswords ? html`<p class="or">or</p>` : undefined}`

const passwordForm = (page: SignIn): Html => {
  const hasEmail = page.email !== undefined && page.email !== ""
  return html`${formStart("sign-in", page.destination)}
${emailField(page, !hasEmail)}
<label>Password<input type="password" name="password" autocomplete="current-password" required maxlength="128"${hasEmail ? focused(page) : undefined}></label>
<button>Sign in</button>
</form>
<p class="or">or</p>
${passkeyButton}
<p class="foot"><a href="${linkTo("forgot-password", page.destination)}">Forgot your password?</a></p>
${
  page.signUpMode === "closed"
    ? undefined
    : html`<p class="foot">New to Quarry? <a href="${linkTo("sign-up", page.destination)}">Create an account</a></p>`
}`
}

export const signIn = (page: SignIn): Page => {
  const { app } = page.destination
  return {
    title: "Sign in",
    script: page.destination,
    body: html`<h1>Sign in</h1>
<p class="lead">to ${app && html`connect <strong>${app.appName}</strong> to `}your Quarry account</p>
${noticeBox(page.notice)}
${providerForm(page)}
${page.hasPasswords ? passwordForm(page) : undefined}
${app && html`<p class="foot">You decide on the next page what ${app.appName} may do. It never sees your password.</p>`}`
  }
}

export interface SignUp extends SignIn {
  readonly deliversEmails: boolean
}

const signUpForm = (page: SignUp): Html =>
  html`${formStart("sign-up", page.destination)}
${emailField(page)}
${page.deliversEmails ? undefined : newPasswordField}
<button>Create account</button>
</form>
${
  page.deliversEmails
    ? html`<p class="foot">We will email you a link to confirm your address and choose a password.</p>`
    : undefined
}`

const signUpLead = ({ destination: { app }, signUpMode }: SignUp): Html | undefined => {
  if (app !== undefined) return html`<p class="lead">to connect <strong>${app.appName}</strong> to it</p>`
  return signUpMode === "open" ? html`<p class="lead">Start with free searches. No card required.</p>` : undefined
}

export const signUp = (page: SignUp): Page => ({
  title: "Create an account",
  script: page.destination,
  body: html`<h1>Create an account</h1>
${signUpLead(page)}
${
  page.signUpMode === "invite"
    ? html`<p class="lead">Sign-up is by invitation. Use the email address that the operator invited.</p>`
    : undefined
}
${noticeBox(page.notice)}
${providerForm(page)}
${page.hasPasswords ? signUpForm(page) : undefined}
<p class="foot">Already have an account? <a href="${linkTo("sign-in", page.destination)}">Sign in</a></p>`
})

export interface LinkSent {
  readonly page: "sign-up" | "forgot-password"
  readonly destination: Destination
  readonly email: string
  /** False if the operator passes the link on. */
  readonly isByEmail: boolean
  /** True if the person asked for another link. */
  readonly isAgain: boolean
}

const linkText = ({ isByEmail, page }: LinkSent): string => {
  if (page === "sign-up")
    return "We sent a link to this address. Open it within one hour to choose your password and sign in."
  return isByEmail
    ? "If this address has an account, we sent a link to it. The link works for one hour."
    : "This deployment does not send email. If this address has an account, the operator can find a link in the server log. The link works for one hour."
}

export const linkSent = (sent: LinkSent): Page => {
  const { destination, email, isAgain, isByEmail, page } = sent
  const title = isByEmail ? "Check your email" : "Ask the operator for the link"
  const again = isByEmail ? "We sent another link. Check your spam folder too." : "There is another link now."
  return {
    title,
    script: destination,
    body: html`<h1>${title}</h1>
<p class="lead">${email}</p>
<p class="foot">${linkText(sent)}</p>
${isAgain ? html`<p class="foot" role="status">${again}</p>` : undefined}
${formStart(page, destination)}
<input type="hidden" name="email" value="${email}">
<input type="hidden" name="again" value="true">
<a class="button" href="${linkTo("sign-in", destination)}">Back to sign-in</a>
<button class="plain">Send another link</button>
</form>
<p class="foot"><a href="${linkTo(page, destination)}">Use another email address</a></p>`
  }
}

const tick = html`<svg viewBox="0 0 20 20" fill="none" aria-hidden="true"><path d="m4.5 10.5 3.5 3.5 7.5-8" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></svg>`

export interface Consent {
  readonly request: AppRequest
  readonly account: { readonly id: string; readonly email: string }
  /** The person's other accounts. */
  readonly others: ReadonlyArray<{ readonly accountId: string; readonly email: string }>
  readonly scopes: ReadonlyArray<ToolScope>
  readonly dailyCredits?: string | undefined
  readonly notice?: string | undefined
}

const scopeTexts: Readonly<Record<ToolScope, readonly [title: string, detail: string]>> = {
  search: ["Search the web for you", "Each search spends one of your credits."],
  read: ["Read web pages for you", "Each page, or each part of a long page, spends one of your credits."]
}

const grant = (title: string, detail: string): Html =>
  html`<li>${tick}<div>${title}<span>${detail}</span></div></li>
`

const identityOf = ({ isOnDevice, verifiedHost }: AppRequest): Html => {
  if (verifiedHost === undefined) {
    return html`<p class="lead">The app chose this name itself. Continue only if you just connected it.</p>`
  }
  const limit = isOnDevice
    ? "Any program on this device could use its name, so continue only if you just connected it."
    : "Continue only if you just connected it."
  return html`<p class="lead">Verified: <strong>${verifiedHost}</strong> publishes this app. ${limit}</p>`
}

/** A form of its own, so that Enter in the limit's field never switches the account. */
const accountSwitcher = ({ others, request }: Pick<Consent, "others" | "request">): Html | undefined =>
  others.length === 0
    ? undefined
    : html`<form method="post" action="/oauth/consent">
${requestField(request)}
<label>Use another of your accounts<select name="account">${others.map(({ accountId, email }) => html`<option value="${accountId}">${email}</option>`)}</select></label>
<button class="plain" name="decision" value="switch">Switch account</button>
</form>`

export const consent = ({ account, dailyCredits, notice, others, request, scopes }: Consent): Page => ({
  title: `Allow ${request.appName}?`,
  body: html`<h1>Allow ${request.appName} to use your Quarry account?</h1>
${identityOf(request)}
${noticeBox(notice)}
<ul class="grants" aria-label="Permissions">
${scopes.map((scope) => grant(...scopeTexts[scope]))}${grant("See your plan and remaining credits", "It cannot see your searches, keys, or password.")}${grant("Stay connected", "Until it disconnects, is not used for 30 days, or you change your password.")}</ul>
<dl>
${request.verifiedHost === undefined ? undefined : html`<dt>Verified host</dt><dd>${request.verifiedHost}</dd>`}
<dt>Account</dt><dd>${account.email}</dd>
<dt>Returns you to</dt><dd>${request.destination}</dd>
</dl>
<form method="post" action="/oauth/consent">
${requestField(request)}
<input type="hidden" name="shown_account" value="${account.id}">
<label>Daily credit limit (optional)<input type="number" name="daily_credits" min="1" max="${String(maxBudgetCredits)}" step="1" inputmode="numeric" value="${dailyCredits ?? ""}" placeholder="No limit but your plan's"></label>
<div class="pair"><button class="plain" name="decision" value="deny" formnovalidate>Deny</button><button name="decision" value="allow">Allow</button></div>
</form>
${accountSwitcher({ others, request })}
<p class="foot">Not you? <a href="/oauth/sign-in?${request.query}">Sign in with another account</a></p>`
})

/** The script of the page shows the button. */
const passkeyButton = html`<p class="notice" role="alert" data-passkey-notice hidden>The passkey was not accepted. Try again, or choose another way.</p>
<button type="button" class="plain" data-passkey hidden>Sign in with a passkey</button>`

export interface SecondFactor {
  readonly next: string
  readonly notice?: string
}

export const secondFactor = ({ next, notice }: SecondFactor): Page => ({
  title: "Confirm your sign-in",
  script: { origin: undefined, path: next },
  body: html`<h1>Confirm your sign-in</h1>
<p class="lead">Enter the code that your authenticator app shows, or one of your recovery codes.</p>
${noticeBox(notice)}
<form method="post" action="/oauth/second-factor">
<input type="hidden" name="next" value="${next}">
<label>Code<input name="code" autocomplete="one-time-code" autocapitalize="none" spellcheck="false" required maxlength="32" autofocus></label>
<button>Continue</button>
</form>
<p class="or">or</p>
${passkeyButton}
<p class="foot">Lost your phone and your recovery codes? Ask the operator of this server for a reset.</p>`
})

export const endSession = (token: string): Page => ({
  title: "End a session",
  body: html`<h1>End this session?</h1>
<p class="lead">The browser that signed in is signed out at once.</p>
<form method="post" action="/oauth/end-session">
<input type="hidden" name="token" value="${token}">
<button>End session</button>
</form>
<p class="foot">Was it you? Close this page, and nothing changes.</p>`
})

export interface Join {
  readonly token: string
  readonly email: string
  readonly role: Role
  readonly account: { readonly email: string }
}

const roleTexts: Readonly<Record<Role, string>> = {
  owner: "Owners may do everything, and manage the members.",
  developer: "Developers search, and manage keys and webhooks. They see the log and usage.",
  billing: "Billing members manage the plan and payments. They see the usage.",
  viewer: "Viewers see the log, usage, and names of keys."
}

export const join = ({ account, email, role, token }: Join): Page => ({
  title: "Join an account",
  body: html`<h1>Join ${account.email} on Quarry?</h1>
<p class="lead">as <strong>${role}</strong>. ${roleTexts[role]}</p>
<dl><dt>Your address</dt><dd>${email}</dd></dl>
<form method="post" action="/oauth/join">
<input type="hidden" name="token" value="${token}">
<button>Join</button>
</form>
<p class="foot">Don't know this account? Close this page, and nothing changes.</p>`
})

export interface ChoosePassword {
  readonly token: string
  readonly next: string
  readonly email: string
  readonly notice?: string | undefined
}

export const choosePassword = ({ email, next, notice, token }: ChoosePassword): Page => ({
  title: "Choose your password",
  body: html`<h1>Choose your password</h1>
<p class="lead">for <strong>${email}</strong></p>
${noticeBox(notice)}
<form method="post" action="/oauth/confirm">
<input type="hidden" name="token" value="${token}">
<input type="hidden" name="next" value="${next}">
<input class="hidden" type="email" name="username" value="${email}" autocomplete="username" tabindex="-1" aria-hidden="true" readonly>
<label>Password<input type="password" name="password" autocomplete="new-password" required minlength="8" maxlength="128" autofocus aria-describedby="rules"></label>
<p class="foot" id="rules">At least 8 characters. Saving it confirms your email address and signs out all other browsers.</p>
<button>Save password and sign in</button>
</form>
<p class="foot">Didn't request this? Close this page, and nothing changes.</p>`
})

export interface ForgotPassword extends PreviousForm {
  readonly destination: Destination
}

export const forgotPassword = (page: ForgotPassword): Page => ({
  title: "Forgot your password?",
  script: page.destination,
  body: html`<h1>Forgot your password?</h1>
<p class="lead">We will send you a link to choose a new one.</p>
${noticeBox(page.notice)}
${formStart("forgot-password", page.destination)}
${emailField(page)}
<button>Send link</button>
</form>
<p class="foot">Remembered it? <a href="${linkTo("sign-in", page.destination)}">Sign in</a></p>`
})

export const unsubscribe = (action: string): Page => ({
  title: "Stop emails",
  body: html`<h1>Stop emails about this account?</h1>
<p class="lead">You will no longer receive event emails. Emails about sign-in and passwords still arrive.</p>
<form method="post" action="${action}">
<button type="submit">Stop emails</button>
</form>`
})

export interface Action {
  readonly text: string
  readonly path: string
}

export const message = (heading: string, text: string, actions: ReadonlyArray<Action> = []): Page => ({
  title: heading,
  body: html`<h1>${heading}</h1>
<p class="lead">${text}</p>
${
  actions.length === 0
    ? undefined
    : html`<p class="buttons">${actions.map(({ path, text }, index) => html`<a class="${index === 0 ? "button" : "button plain"}" href="${path}">${text}</a>`)}</p>`
}`
})
