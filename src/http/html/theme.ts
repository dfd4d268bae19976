import { readFileSync } from "node:fs"

/** Colors, type, links and focus, shared with the dashboard's stylesheet. */
export const theme = readFileSync(new URL("theme.css", import.meta.url), "utf8")
