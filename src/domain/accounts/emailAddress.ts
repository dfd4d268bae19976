/** The limit of RFC 5321 (4.5.3.1.3): 256 octets including the angle brackets. */
export const maxEmailCharacters = 254

export const normalizeEmail = (email: string): string => email.trim().toLowerCase()

/** Domains that share mailboxes with another domain. */
const domainAliases: ReadonlyMap<string, string> = new Map([["googlemail.com", "gmail.com"]])

/** Domains whose provider documents that it ignores dots. */
const dotlessDomains: ReadonlySet<string> = new Set(["gmail.com"])

/**
 * Returns the mailbox that a trial is granted to (R32): the address without its `+tag`, and without dots if the
 * provider ignores them. `trial_mailbox` computes the same in the database.
 */
export const mailboxOf = (address: string): string => {
  const at = address.lastIndexOf("@")
  if (at === -1) return address
  const domain = domainAliases.get(address.slice(at + 1)) ?? address.slice(at + 1)
  const local = address.slice(0, at)
  const untagged = local.split("+", 1).join("") || local
  const name = (dotlessDomains.has(domain) ? untagged.replaceAll(".", "") : untagged) || untagged
  return `${name}@${domain}`
}
