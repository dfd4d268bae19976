import { readFileSync } from "node:fs"
import { assert, it } from "@effect/vitest"
import { generate, generatedFile } from "../../../clients/typescript/generate.ts"
import { describeApi } from "../../../src/http/Api.ts"

it("the client's types are those of the API's description: else npm run openapi", () => {
  assert.strictEqual(readFileSync(generatedFile, "utf8"), generate(JSON.parse(JSON.stringify(describeApi()))))
})
