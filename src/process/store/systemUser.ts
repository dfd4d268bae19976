import { userInfo } from "node:os"

/** The name of the system user, or its number if it has no name, as in many containers. */
export const systemUser = (): string => {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? "unknown"}`
  }
}
