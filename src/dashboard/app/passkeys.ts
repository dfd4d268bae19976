import { call, failed, type Result } from "../api/client.ts"

/** Calls the browser's dialog for passkeys, which the person may cancel. */
const ask = async <A>(request: () => Promise<A>): Promise<A | undefined> => {
  try {
    return await request()
  } catch {
    return undefined
  }
}

// The server writes options in the standard's own format (WebAuthn level 3, section 5.1.8), which `routes.ts` cannot name.
const toCreation = (options: object) =>
  PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON)
const toRequest = (options: object) =>
  PublicKeyCredential.parseRequestOptionsFromJSON(options as PublicKeyCredentialRequestOptionsJSON)

const unused = failed("The passkey was not used. Try again, or choose another way.")

export const signInWithPasskey = async (): Promise<Result<unknown>> => {
  const options = await call("GET /api/auth/passkey/generate-authenticate-options", {})
  if (!options.ok) return options
  const publicKey = toRequest(options.value)
  const credential = await ask(() => navigator.credentials.get({ publicKey }))
  if (!(credential instanceof PublicKeyCredential)) return unused
  return call("POST /api/auth/passkey/verify-authentication", { body: { response: credential.toJSON() } })
}

export const addPasskey = async (name: string): Promise<Result<unknown>> => {
  const options = await call("GET /api/auth/passkey/generate-register-options", {})
  if (!options.ok) return options
  const publicKey = toCreation(options.value)
  const credential = await ask(() => navigator.credentials.create({ publicKey }))
  if (!(credential instanceof PublicKeyCredential)) return unused
  return call("POST /api/auth/passkey/verify-registration", { body: { response: credential.toJSON(), name } })
}
