import { dictionary } from "@zxcvbn-ts/language-common"

/** The 49,000 most common passwords, in lower case. */
const commonPasswords: ReadonlySet<string | null> = new Set(dictionary["passwords-common"])

export const isCommonPassword = (password: string): boolean => commonPasswords.has(password.toLowerCase())
