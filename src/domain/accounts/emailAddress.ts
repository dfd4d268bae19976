import { partBefore } from "../text.ts"

/** RFC 5321 (4.5.3.1.3) allows 256 octets including angle brackets. */
export const maxEmailCharacters = 254

export const normalizeEmail = (email: string): string => email.trim().toLowerCase()

const domainAliases: ReadonlyMap<string, string> = new Map([["googlemail.com", "gmail.com"]])

/** Domains whose provider documents that it ignores dots. */
const dotlessDomains: ReadonlySet<string> = new Set(["gmail.com"])

/** The mailbox that gets a trial (R32): no `+tag`, no ignored dots. SQL's `trial_mailbox` must compute the same. */
export const mailboxOf = (address: string): string => {
  const at = address.lastIndexOf("@")
  if (at === -1) return address
  const domain = domainAliases.get(address.slice(at + 1)) ?? address.slice(at + 1)
  const local = address.slice(0, at)
  const untagged = partBefore(local, "+") || local
  const name = (dotlessDomains.has(domain) ? untagged.replaceAll(".", "") : untagged) || untagged
  return `${name}@${domain}`
}
