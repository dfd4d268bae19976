import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { Api } from "../../src/http/Api.ts"
import { type Document, errorsOf } from "../../src/http/docs/document.ts"

/** Codes and statuses in the contract's table of errors. */
const contract = Array.from(
  readFileSync("docs/contract.md", "utf8").matchAll(/^\| `([a-z_]+)` \| ([45]\d\d) \|/gm),
  ([, code, status]) => `${status} ${code}`
)

describe("the API's errors", () => {
  it("are those of the contract's table, with its statuses", () => {
    // The cast: the generated document has these parts, as the reference's own tests show.
    const document = OpenApi.fromApi(Api) as unknown as Document
    assert.isNotEmpty(contract)
    assert.sameMembers(
      errorsOf(document).map(([status, code]) => `${status} ${code}`),
      contract
    )
  })
})
