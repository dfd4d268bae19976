import { readFileSync } from "node:fs"

/** Colours, type, links and focus of every page for people. The dashboard's stylesheet imports the same file. */
export const theme = readFileSync(new URL("theme.css", import.meta.url), "utf8")
