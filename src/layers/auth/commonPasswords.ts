import { dictionary } from "@zxcvbn-ts/language-common"

/** The 49,000 that people choose most, in lower case. */
const common: ReadonlySet<string | null> = new Set(dictionary["passwords-common"])

/** Whether a password is among those that are guessed first, in any letter case. */
export const isCommonPassword = (password: string): boolean => common.has(password.toLowerCase())
