import { userInfo } from "node:os"

/** The user's number if it has no name, as in many containers. */
export const systemUser = (): string => {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`
  }
}
