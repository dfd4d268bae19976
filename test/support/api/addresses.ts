import * as fc from "fast-check"

/** Normalized addresses, many of them at providers with special rules. */
export const addresses = fc
  .tuple(
    fc.stringMatching(/^[a-z.+]{1,8}$/),
    fc.constantFrom("gmail.com", "googlemail.com", "example.com", "x.gmail.com", "gmail.com.example")
  )
  .map(([local, domain]) => `${local}@${domain}`)
