import { writeFileSync } from "node:fs"
import { describeApi } from "../src/http/Api.ts"

/** Writes the committed API description. A test fails when it no longer says what the code does. */
writeFileSync(new URL("../openapi.json", import.meta.url), `${JSON.stringify(describeApi(), null, 2)}\n`)
