import type { SignUpMode } from "../../domain/accounts/signUp.ts"
import { parseTargetLabels } from "../search/targetLabels.ts"

/** Deployment settings embedded in the HTML document. None of them is secret. */

const { host, mail, passwords, providers, scheme, signUp, targets } = document.body.dataset

/** False if the deployment sends no email; the operator passes links on instead. */
export const deliversEmails = mail === "true"

export const signUpMode: SignUpMode = signUp === "closed" || signUp === "invite" ? signUp : "open"

export const targetLabels = parseTargetLabels(targets)

export interface IdentityProvider {
  readonly id: string
  readonly name: string
}

/** The cast is safe: the server writes this attribute. */
export const identityProviders = JSON.parse(providers ?? "[]") as ReadonlyArray<IdentityProvider>

/** False if people sign in only at the identity provider. */
export const hasPasswords = passwords !== "false"

/** The origin of `BASE_URL` if the page was opened at another address, where sessions do not count. */
export const otherOrigin = `${scheme}://${host}` === location.origin ? undefined : `${scheme}://${host}`

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

/** Leaves a loopback name for `BASE_URL`: `127.0.0.1` and `localhost` are the same server, but not the same site. */
export const leadToOwnAddress = (): boolean => {
  if (otherOrigin === undefined || !loopback.test(location.hostname)) return false
  location.replace(otherOrigin + location.pathname + location.search)
  return true
}
