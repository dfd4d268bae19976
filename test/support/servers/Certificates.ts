import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { Effect } from "effect"
import { temporaryDirectory } from "../processes/Spawned.ts"

/** A certificate and its key, and their files. */
export interface Certificate {
  readonly key: string
  readonly cert: string
  readonly keyFile: string
  readonly certFile: string
}

/** Creates a certificate for `DNS:name` or `IP:address`, and the file of its certificate authority. */
export const make = Effect.fnUntraced(function* (subject: string) {
  const directory = yield* temporaryDirectory
  const openssl = (...args: ReadonlyArray<string>) => execFileSync("openssl", args, { cwd: directory, stdio: "pipe" })
  // Making an RSA key takes a hundred times as long.
  const made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
  openssl("req", "-x509", ...made, "-subj", "/CN=test", "-keyout", "ca.key", "-out", "ca.pem")
  const ours = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", `subjectAltName=${subject}`]
  openssl("req", "-x509", ...made, ...ours, "-subj", "/CN=quarry", "-keyout", "key.pem", "-out", "cert.pem")
  const [keyFile, certFile] = [join(directory, "key.pem"), join(directory, "cert.pem")]
  const certificate: Certificate = {
    key: readFileSync(keyFile, "utf8"),
    cert: readFileSync(certFile, "utf8"),
    keyFile,
    certFile
  }
  const authorityFile = join(directory, "ca.pem")
  return { certificate, authorityFile, authority: readFileSync(authorityFile, "utf8") }
})

/** A certificate that this process trusts until the scope closes. */
export const trusted = Effect.fnUntraced(function* (subject: string) {
  const { authority, certificate } = yield* make(subject)
  yield* Effect.acquireRelease(
    Effect.sync(() => {
      const before = getCACertificates("default")
      setDefaultCACertificates([...before, authority])
      return before
    }),
    (before) => Effect.sync(() => setDefaultCACertificates(before))
  )
  return certificate
})

/** A certificate for loopback from an untrusted authority. */
export const untrusted = Effect.map(make("IP:127.0.0.1"), ({ certificate }) => certificate)
