import crypto, { type BinaryLike, type ScryptOptions } from "node:crypto"
import { syncBuiltinESMExports } from "node:module"

/*
 * Makes the hashes of passwords cheap in this process. One takes a tenth of a second on purpose, and the tests of sign-in
 * make hundreds. Hashes that were made before do not match any more, so that a process imports this before it makes one.
 */

type Callback = (error: Error | null, key: Buffer) => void

const { scrypt } = crypto

const cheap = (password: BinaryLike, salt: BinaryLike, bytes: number, options: ScryptOptions, callback: Callback) =>
  scrypt(password, salt, bytes, { ...options, N: 2 }, callback)

Object.assign(crypto, { scrypt: cheap })
syncBuiltinESMExports()
