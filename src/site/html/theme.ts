import { readFileSync } from "node:fs"

export const theme = readFileSync(new URL("theme.css", import.meta.url), "utf8")
