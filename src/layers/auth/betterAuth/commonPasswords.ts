import { dictionary } from "@zxcvbn-ts/language-common"

const commonPasswords: ReadonlySet<string | null> = new Set(dictionary["passwords-common"])

export const isCommonPassword = (password: string): boolean => commonPasswords.has(password.toLowerCase())
