/** Sign-up is open to anyone, to people whose account an operator created, or to no one (R65). */
export const signUpModes = ["open", "invite", "closed"] as const
export type SignUpMode = (typeof signUpModes)[number]

export interface SignUpPolicy {
  readonly mode: SignUpMode
  /** In lower case. If not empty, `open` admits only addresses at these domains. */
  readonly domains: ReadonlyArray<string>
}

export const isOpenTo = ({ domains }: SignUpPolicy, address: string): boolean =>
  domains.length === 0 || domains.includes(address.slice(address.lastIndexOf("@") + 1))

/** For an address that an owner invited to their account. */
export const isOpenToInvited = (policy: SignUpPolicy, address: string): boolean =>
  policy.mode === "invite" || (policy.mode === "open" && isOpenTo(policy, address))

export const signUpDeniedCode = "SIGN_UP_REFUSED"
export const signUpLimitedCode = "SIGN_UP_LIMITED"
