import type { IdentityProvider } from "../../services/Sessions.ts"
import { type Html, html } from "./html.ts"

/** The pages that people see when an app asks to be let in. Plain forms: they work without scripts, and allow none. */

export const stylePath = "/oauth/style.css"

export interface Page {
  readonly title: string
  readonly body: Html
}

export const mark = html`<svg viewBox="0 0 24 24" fill="none" aria-hidden="true"><path d="M3 17.5 8.2 7l4 6 2.6-3.6L21 17.5Z" fill="currentColor" opacity=".28"/><path d="M3 17.5 8.2 7l4 6 2.6-3.6L21 17.5M2.5 20.5h19" stroke="currentColor" stroke-width="1.8" stroke-linecap="round" stroke-linejoin="round"/></svg>`

export const documentOf = ({ body, title }: Page): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title} · Quarry</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${stylePath}">
</head>
<body>
<main>
<div class="brand">${mark}<span>Quarry</span></div>
${body}
</main>
<footer>Quarry web search</footer>
</body>
</html>
`.text

/** Who asks, in the app's own words, and where the answer goes, which nobody else can choose. */
export interface Asking {
  /** The signed request, handed from page to page. */
  readonly request: string
  readonly app: string
  readonly destination: string
}

const notice = (text: string | undefined): Html | undefined =>
  text === undefined ? undefined : html`<p class="notice" role="alert">${text}</p>`

const providerNames: Readonly<Record<IdentityProvider, string>> = { google: "Google", github: "GitHub" }

const providerMarks: Readonly<Record<IdentityProvider, Html>> = {
  google: html`<svg viewBox="0 0 24 24" aria-hidden="true"><path fill="#4285f4" d="M22.5 12.2c0-.8-.1-1.5-.2-2.2H12v4.3h5.9a5 5 0 0 1-2.2 3.3v2.7h3.6c2-1.9 3.2-4.7 3.2-8.1Z"/><path fill="#34a853" d="M12 23c3 0 5.5-1 7.3-2.7l-3.6-2.7a6.7 6.7 0 0 1-10-3.5H2v2.8A11 11 0 0 0 12 23Z"/><path fill="#fbbc05" d="M5.7 14.1a6.6 6.6 0 0 1 0-4.2V7.1H2a11 11 0 0 0 0 9.8l3.7-2.8Z"/><path fill="#ea4335" d="M12 5.4c1.6 0 3.1.6 4.2 1.6l3.2-3.1A11 11 0 0 0 2 7.1l3.7 2.8A6.6 6.6 0 0 1 12 5.4Z"/></svg>`,
  github: html`<svg viewBox="0 0 24 24" fill="currentColor" aria-hidden="true"><path d="M12 1.5a10.5 10.5 0 0 0-3.3 20.5c.5.1.7-.2.7-.5v-1.8c-2.9.6-3.5-1.4-3.5-1.4-.5-1.2-1.2-1.5-1.2-1.5-1-.7.1-.7.1-.7 1 .1 1.6 1.1 1.6 1.1.9 1.6 2.4 1.1 3 .9.1-.7.4-1.1.7-1.4-2.3-.3-4.8-1.2-4.8-5.2 0-1.1.4-2.1 1.1-2.8-.1-.3-.5-1.3.1-2.8 0 0 .9-.3 2.9 1.1a10 10 0 0 1 5.2 0c2-1.4 2.9-1.1 2.9-1.1.6 1.5.2 2.5.1 2.8.7.7 1.1 1.7 1.1 2.8 0 4-2.5 4.9-4.8 5.2.4.3.7 1 .7 1.9v2.9c0 .3.2.6.7.5A10.5 10.5 0 0 0 12 1.5Z"/></svg>`
}

/** What a person filled in before, and why it did not do. */
export interface Filled {
  readonly email?: string | undefined
  readonly failure?: string | undefined
}

export interface SignIn extends Filled {
  readonly asking: Asking
  readonly providers: ReadonlyArray<IdentityProvider>
}

export const signIn = ({ asking, email, failure, providers }: SignIn): Page => ({
  title: "Sign in",
  body: html`<h1>Sign in to Quarry</h1>
<p class="lead">to connect <strong>${asking.app}</strong> to your account</p>
${notice(failure)}
${
  providers.length === 0
    ? undefined
    : html`<form class="apart" method="post" action="/oauth/sign-in"><input type="hidden" name="request" value="${asking.request}">
${providers.map(
  (provider) =>
    html`<button class="plain" name="provider" value="${provider}">${providerMarks[provider]}Continue with ${providerNames[provider]}</button>
`
)}</form>
<p class="or">or</p>`
}
<form method="post" action="/oauth/sign-in">
<input type="hidden" name="request" value="${asking.request}">
<label>Email<input type="email" name="email" value="${email ?? ""}" autocomplete="username" required maxlength="320"></label>
<label>Password<input type="password" name="password" autocomplete="current-password" required maxlength="128"></label>
<button>Sign in</button>
</form>
<p class="foot">New to Quarry? <a href="/oauth/sign-up?${asking.request}">Create an account</a></p>
<p class="foot">You decide on the next page what ${asking.app} may do. It never sees your password.</p>`
})

export const signUp = ({ asking, email, failure }: { readonly asking: Asking } & Filled): Page => ({
  title: "Create an account",
  body: html`<h1>Create a Quarry account</h1>
<p class="lead">to connect <strong>${asking.app}</strong> to it</p>
${notice(failure)}
<form method="post" action="/oauth/sign-up">
<input type="hidden" name="request" value="${asking.request}">
<label>Email<input type="email" name="email" value="${email ?? ""}" autocomplete="username" required maxlength="320"></label>
<label>Password<input type="password" name="password" autocomplete="new-password" required minlength="8" maxlength="128"></label>
<button>Create account</button>
</form>
<p class="foot">Have an account? <a href="/oauth/sign-in?${asking.request}">Sign in</a></p>`
})

const tick = html`<svg viewBox="0 0 20 20" fill="none" aria-hidden="true"><path d="m4.5 10.5 3.5 3.5 7.5-8" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"/></svg>`

export const consent = ({ asking, email }: { readonly asking: Asking; readonly email: string }): Page => ({
  title: `Allow ${asking.app}?`,
  body: html`<h1>Allow ${asking.app} to use your Quarry account?</h1>
<p class="lead">The app chose this name itself. Go on only if you have just connected it.</p>
<ul class="grants" aria-label="What it may do">
<li>${tick}<div>Search the web for you<span>Each search spends a credit of your account.</span></div></li>
<li>${tick}<div>See your plan and the credits left<span>Not your searches, keys or password.</span></div></li>
<li>${tick}<div>Stay connected<span>Until it disconnects, is not used for 30 days, or you change your password.</span></div></li>
</ul>
<dl>
<dt>Account</dt><dd>${email}</dd>
<dt>Sends you back to</dt><dd>${asking.destination}</dd>
</dl>
<form method="post" action="/oauth/consent">
<input type="hidden" name="request" value="${asking.request}">
<div class="pair"><button class="plain" name="decision" value="deny">Deny</button><button name="decision" value="allow">Allow</button></div>
</form>
<p class="foot">Not you? <a href="/oauth/sign-in?${asking.request}">Sign in with another account</a></p>`
})

export interface Confirming {
  /** From the email's link. */
  readonly token: string
  /** Where to go on to. */
  readonly next: string
  readonly failure?: string | undefined
}

/** Opened by mail gateways as well as by people, so that nothing happens before its form is sent. */
export const confirm = ({ failure, next, token }: Confirming): Page => ({
  title: "Confirm your address",
  body: html`<h1>Confirm your address</h1>
<p class="lead">Choose the password of your Quarry account. It replaces any that was chosen before.</p>
${notice(failure)}
<form method="post" action="/oauth/confirm">
<input type="hidden" name="token" value="${token}">
<input type="hidden" name="next" value="${next}">
<label>Password<input type="password" name="password" autocomplete="new-password" required minlength="8" maxlength="128"></label>
<button>Confirm</button>
</form>
<p class="foot">You did not sign up? Close this page: nobody is let in.</p>`
})

/** A page that only says something. */
export const saying = (heading: string, text: string): Page => ({
  title: heading,
  body: html`<h1>${heading}</h1>
<p class="lead">${text}</p>`
})
