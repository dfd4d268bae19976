import { writeFileSync } from "node:fs"
import { describeApi } from "../src/http/Api.ts"

/** Writes the committed API description. A test fails if it differs from the code. */
writeFileSync(new URL("../openapi.json", import.meta.url), `${JSON.stringify(describeApi(), null, 2)}\n`)
