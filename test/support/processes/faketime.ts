import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"

/** Debian's library for wrong clocks, in a directory for each architecture; undefined where it is not installed. */
export const faketimeLibrary = readdirSync("/usr/lib", { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join("/usr/lib", name, "faketime/libfaketime.so.1"))
  .find((path) => existsSync(path))

/** The environment of a process whose clock is off by so much, such as `+10d`. Its timers run as ever. */
export const fakeClock = (offset: string): Record<string, string> => ({
  LD_PRELOAD: faketimeLibrary ?? "",
  FAKETIME: offset,
  FAKETIME_DONT_FAKE_MONOTONIC: "1"
})
