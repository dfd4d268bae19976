import "../../test/support/accounts/cheapPasswords.ts"
import crypto from "node:crypto"
import { writeSync } from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import * as FindMyWay from "effect/http/FindMyWay"

/*
 * Loaded into a server before the server's own code (`node --import`). Reports each route that a router gets and each
 * password hash, as lines of JSON on file descriptor 3. Makes hashes cheap, because a run makes thousands.
 */

/** One line. Routers are numbered in the order of their first route. */
export type Report =
  | { readonly route: { readonly router: number; readonly method: string; readonly path: string } }
  | { readonly hashed: true }

const report = (line: Report): void => void writeSync(3, `${JSON.stringify(line)}\n`)

const routers: Array<object> = []

const numberOf = (router: object): number => {
  if (!routers.includes(router)) routers.push(router)
  return routers.indexOf(router)
}

type Router = FindMyWay.Router<unknown>

// The library does not export the class of its routers.
const prototype: Router = Object.getPrototypeOf(FindMyWay.make())
const { on } = prototype

Object.assign(prototype, {
  on(this: Router, ...[method, path, handler]: Parameters<Router["on"]>) {
    for (const name of typeof method === "string" ? [method] : method)
      report({ route: { router: numberOf(this), method: name, path } })
    on.call(this, method, path, handler)
  }
})

const { scrypt } = crypto

Object.assign(crypto, {
  scrypt: (...args: Parameters<typeof scrypt>) => {
    report({ hashed: true })
    scrypt(...args)
  }
})
syncBuiltinESMExports()
