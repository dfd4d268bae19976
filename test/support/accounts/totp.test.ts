import { assert, it } from "@effect/vitest"
import { totp } from "./totp.ts"

it("R66: the tests' codes are those of RFC 6238, appendix B", () => {
  const secret = Buffer.from("12345678901234567890")
  const codes = [59, 1_111_111_109, 1_111_111_111, 1_234_567_890, 2_000_000_000, 20_000_000_000].map((seconds) =>
    totp(secret, seconds, 8)
  )
  assert.deepStrictEqual(codes, ["94287082", "07081804", "14050471", "89005924", "69279037", "65353130"])
})
