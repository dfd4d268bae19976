import crypto, { type BinaryLike, type ScryptOptions } from "node:crypto"
import { syncBuiltinESMExports } from "node:module"

/*
 * Makes password hashes cheap in this process, because one takes a tenth of a second by design and the tests of sign-in
 * make hundreds. Import it before making any hash, because earlier hashes no longer match.
 */

type Callback = (error: Error | null, key: Buffer) => void

const { scrypt } = crypto

/** Leaves hashes without a cost parameter unchanged, because they are not password hashes. */
const cheap = (
  password: BinaryLike,
  salt: BinaryLike,
  bytes: number,
  ...rest: readonly [Callback] | readonly [ScryptOptions, Callback]
) =>
  rest.length === 1
    ? scrypt(password, salt, bytes, rest[0])
    : scrypt(password, salt, bytes, { ...rest[0], N: 2 }, rest[1])

Object.assign(crypto, { scrypt: cheap })
syncBuiltinESMExports()
