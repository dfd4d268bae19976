/** Served to the pages that offer passkeys. Reads the form that contains its button. */
export const passkeyScript = `const button = document.querySelector("[data-passkey]")
const notice = document.querySelector("[data-passkey-notice]")
const path = "/api/auth/passkey/"
const ask = async (route, body) => {
  const init = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
  const response = await fetch(path + route, init)
  const json = await response.json()
  if (!response.ok) throw new Error(json.message)
  return json
}
const signIn = async () => {
  const options = await ask("generate-authenticate-options")
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options)
  const credential = await navigator.credentials.get({ publicKey })
  const { next, query } = button.dataset
  const { url } = await ask("verify-authentication", { response: credential.toJSON(), ...(query && { oauth_query: query }) })
  location.assign(url ?? next)
}
button.addEventListener("click", () => {
  notice.hidden = true
  signIn().catch(() => {
    notice.hidden = false
  })
})
button.hidden = !("PublicKeyCredential" in window)
`
