/** Those who may sign up (R65): everybody, those whose account the operator made, or nobody. */
export const signUpModes = ["open", "invite", "closed"] as const
export type SignUpMode = (typeof signUpModes)[number]

export interface SignUpPolicy {
  readonly mode: SignUpMode
  /** In lower case. Where there are any, `open` means addresses at these domains alone. */
  readonly domains: ReadonlyArray<string>
}

export const openToAll: SignUpPolicy = { mode: "open", domains: [] }

/** True where an open sign-up takes a normalized address. */
export const isOpenTo = ({ domains }: SignUpPolicy, address: string): boolean =>
  domains.length === 0 || domains.includes(address.slice(address.lastIndexOf("@") + 1))

/** The codes of a sign-up that the policy, or the limit of the client's network, does not admit. */
export const signUpDeniedCode = "SIGN_UP_REFUSED"
export const signUpLimitedCode = "SIGN_UP_LIMITED"
