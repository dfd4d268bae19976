// The sign-in pages work without this script. It adds passkeys, says why a browser cannot sign in, and leads on from a
// page whose browser has a session already.

const { app, next, origin } = document.currentScript.dataset
const main = document.querySelector("main")

/** Browsers that block cookies may refuse each of storage, channels and passkeys. */
const attempt = (run) => {
  try {
    return run()
  } catch {
    return undefined
  }
}

const show = (problem) => {
  main.replaceChildren(main.firstElementChild, document.querySelector(`[data-problem="${problem}"]`).content)
}

/** `127.0.0.1` and `localhost` are the same server, but not the same site. */
const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

const leadToOwnAddress = () => {
  const own = origin + location.pathname + location.search
  if (loopback.test(location.hostname)) return location.replace(own)
  show("address")
  main.querySelector("[data-opened]").textContent = location.origin
  main.querySelector("a").href = own
}

const ask = async (route, body) => {
  const init = body && { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
  const response = await fetch(`/api/auth/passkey/${route}`, init)
  const json = await response.json()
  if (!response.ok) throw new Error(json.message)
  return json
}

const signInWithPasskey = async () => {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(await ask("generate-authenticate-options"))
  const credential = await navigator.credentials.get({ publicKey })
  const body = { response: credential.toJSON(), ...(app && { oauth_query: app }) }
  const { url } = await ask("verify-authentication", body)
  location.assign(url ?? next)
}

const offerPasskey = (button) => {
  const notice = document.querySelector("[data-passkey-notice]")
  button.addEventListener("click", () => {
    notice.hidden = true
    signInWithPasskey().catch(() => {
      notice.hidden = false
    })
  })
  button.hidden = !("PublicKeyCredential" in window)
}

const leadOn = async () => {
  const response = await fetch("/v1/me").catch(() => undefined)
  if (response?.ok) location.replace(next)
}

const isReturn = () => performance.getEntriesByType("navigation").some(({ type }) => type === "back_forward")

const start = () => {
  const theme = attempt(() => localStorage.getItem("quarry.theme"))
  if (theme) document.documentElement.dataset.theme = theme
  const button = document.querySelector("[data-passkey]")
  if (button) offerPasskey(button)
  if (!next) return
  // The page of the dashboard to which this one leads tells the other tabs.
  attempt(() => sessionStorage.setItem("quarry.entered", ""))
  attempt(() => new BroadcastChannel("quarry").addEventListener("message", leadOn))
  addEventListener("pageshow", ({ persisted }) => (persisted || isReturn()) && leadOn())
}

if (origin && origin !== location.origin) leadToOwnAddress()
else if (origin && !navigator.cookieEnabled) show("cookies")
else start()
