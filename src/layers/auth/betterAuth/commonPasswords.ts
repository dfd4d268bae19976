import { dictionary } from "@zxcvbn-ts/language-common"

/** The 49,000 most common passwords, in lower case. */
const commonPasswords: ReadonlySet<string | null> = new Set(dictionary["passwords-common"])

/** True for a password that attackers guess first, in any letter case. */
export const isCommonPassword = (password: string): boolean => commonPasswords.has(password.toLowerCase())
