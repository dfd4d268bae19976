import { Context } from "effect"

/** The sender of a request, as the account's activity shows it (R68). */
export interface Requester {
  /** The ID of a person or a key, or `operator`. Undefined before a sign-in. */
  readonly actor?: string | undefined
  readonly address?: string | undefined
  /** The User-Agent header. */
  readonly browser?: string | undefined
}

/** Undefined where nobody is known: in the server's own work, and for API keys, which cannot change an account. */
export const CurrentRequester = Context.Reference<Requester | undefined>("quarry/references/CurrentRequester", {
  defaultValue: () => undefined
})
