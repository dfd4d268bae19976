import crypto, { type BinaryLike, type ScryptOptions } from "node:crypto"
import { syncBuiltinESMExports } from "node:module"

/*
 * Makes the hashes of passwords cheap in this process. One takes a tenth of a second on purpose, and the tests of sign-in
 * make hundreds. Hashes that were made before do not match any more, so that a process imports this before it makes one.
 */

type Callback = (error: Error | null, key: Buffer) => void

const { scrypt } = crypto

/** A hash without a cost of its own is no password's, and stays as it is. */
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
