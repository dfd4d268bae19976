/** The longest address by RFC 5321 (4.5.3.1.3): 256 octets, less the angle brackets. */
export const maxEmailCharacters = 254

/** Normalizes an email address, so that each address gets the trial once (R32). */
export const normalizeEmail = (email: string): string => email.trim().toLowerCase()
