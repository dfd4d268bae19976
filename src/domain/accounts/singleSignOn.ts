import { hostOf, isLoopbackHost } from "../net/Network.ts"
import { normalizeEmail } from "./emailAddress.ts"

/** Decides who must sign in at the OpenID provider (R66). */
export interface SingleSignOnRule {
  /** The label of the provider's button. */
  readonly name: string
  /** Email domains in lower case. */
  readonly domains: ReadonlyArray<string>
  /** True if it is the only way to sign in, for every address. */
  readonly isOnly: boolean
}

export const requiresSingleSignOn = (rule: SingleSignOnRule | undefined, address: string): boolean => {
  if (rule === undefined) return false
  const email = normalizeEmail(address)
  return rule.isOnly || rule.domains.includes(email.slice(email.lastIndexOf("@") + 1))
}

/** https, or http on this machine. Over plain http, others could read codes and the client secret. */
export const isProviderAddress = (text: string): boolean => {
  const url = URL.parse(text)
  if (url === null || url.username !== "" || url.password !== "") return false
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(hostOf(url)))
}

export const singleSignOnCode = "SINGLE_SIGN_ON_REQUIRED"
export const providerUnreachableCode = "IDENTITY_PROVIDER_UNREACHABLE"
