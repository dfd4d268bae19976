import { Client, StreamableHTTPClientTransport, UnauthorizedError } from "@modelcontextprotocol/client"

// A program that runs in a web page, bundled for the browser. It shows what it found, or why it failed.

const server = new URL(`${new URL(location.href).searchParams.get("server") ?? sessionStorage.getItem("server")}/mcp`)
sessionStorage.setItem("server", server.origin)
const redirectUrl = `${location.origin}/`

const kept = (name) => JSON.parse(sessionStorage.getItem(name) ?? "null") ?? undefined
const keep = (name) => (value) => sessionStorage.setItem(name, JSON.stringify(value))

const authProvider = {
  redirectUrl,
  clientMetadata: { client_name: "A page", redirect_uris: [redirectUrl] },
  clientInformation: () => kept("client"),
  saveClientInformation: keep("client"),
  tokens: () => kept("tokens"),
  saveTokens: keep("tokens"),
  redirectToAuthorization: (url) => location.assign(url),
  saveCodeVerifier: keep("verifier"),
  codeVerifier: () => kept("verifier") ?? ""
}

const show = (text) => {
  document.title = text
}

const search = { name: "web_search", arguments: { query: "css grid" } }

const run = async () => {
  const open = () => new StreamableHTTPClientTransport(server, { authProvider })
  const answer = new URL(location.href).searchParams
  if (answer.has("code")) await open().finishAuth(answer)
  const client = new Client({ name: "page", version: "1" })
  await client.connect(open())
  const answers = await Promise.all([1, 2, 3, 4].map(() => client.callTool(search)))
  show(`${answers.filter(({ isError }) => isError !== true).length} searches`)
}

run().catch((error) => {
  // The page is on its way to the sign-in.
  if (!(error instanceof UnauthorizedError)) show(`Failed: ${error.message}`)
})
