import { createHash, randomBytes } from "node:crypto"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as AppCallback from "../support/servers/AppCallback.ts"
import * as Dashboard from "./support/Dashboard.ts"

/** Lets an app in, as a person does, and answers its access token. */
const letIn = async ({ context, origin }: Dashboard.Person, callback: string, name: string): Promise<string> => {
  const post = async (path: string, body: object | URLSearchParams) => {
    const isForm = body instanceof URLSearchParams
    const response = await fetch(`${origin}/api/auth/oauth2${path}`, {
      method: "POST",
      headers: { "content-type": isForm ? "application/x-www-form-urlencoded" : "application/json" },
      body: isForm ? String(body) : JSON.stringify(body)
    })
    // biome-ignore lint/suspicious/noExplicitAny: the body of the protocol's endpoint, of which the test reads one field.
    return (await response.json()) as any
  }
  const { client_id } = await post("/register", {
    client_name: name,
    redirect_uris: [callback],
    token_endpoint_auth_method: "none"
  })
  const verifier = randomBytes(32).toString("base64url")
  const resource = `${origin}/mcp`
  const query = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: callback,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    state: "a state",
    resource
  })
  const page = await context.newPage()
  await page.goto(`${origin}/api/auth/oauth2/authorize?${query}`)
  await Dashboard.expectAccessible(page)
  await page.getByRole("button", { name: "Allow" }).click()
  await page.waitForURL(/\/callback\?/)
  const code = new URL(page.url()).searchParams.get("code") ?? ""
  await page.close()
  const form = {
    grant_type: "authorization_code",
    code,
    client_id,
    redirect_uri: callback,
    code_verifier: verifier,
    resource
  }
  return (await post("/token", new URLSearchParams(form))).access_token
}

const statusOf = async (origin: string, token: string): Promise<number> => {
  const response = await fetch(`${origin}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream"
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })
  })
  await response.text()
  return response.status
}

Dashboard.describeDashboard("the connected apps", (it) => {
  it.effect("are none at first, then listed, and a disconnected app loses access at once", () =>
    Effect.gen(function* () {
      const person = yield* Dashboard.signedIn()
      const { origin, page } = person
      const { url: callback } = yield* AppCallback.make
      yield* Effect.promise(async () => {
        await person.open("/dashboard/apps", "Connected apps")
        await page.getByRole("heading", { name: "No connected apps" }).waitFor()
        const cursor = await page.getByRole("link", { name: "Add to Cursor" }).getAttribute("href")
        const config = new URL(cursor ?? "").searchParams.get("config") ?? ""
        assert.deepStrictEqual(JSON.parse(Buffer.from(config, "base64").toString()), { url: `${origin}/mcp` })
        const code = await page.getByRole("link", { name: "Add to VS Code" }).getAttribute("href")
        const server = { name: "quarry", type: "http", url: `${origin}/mcp` }
        assert.strictEqual(code, `vscode:mcp/install?${encodeURIComponent(JSON.stringify(server))}`)
        await Dashboard.expectAccessible(page)
        const hostile = await letIn(person, callback, '<img src=x onerror="alert(1)">')
        const editor = await letIn(person, callback, "An editor")
        assert.strictEqual(await statusOf(origin, editor), 200)
        await page.reload()
        await page.getByRole("rowheader", { name: '<img src=x onerror="alert(1)">' }).waitFor()
        await Dashboard.expectAccessible(page)
        await page.getByRole("button", { name: "Disconnect An editor" }).click()
        const dialog = page.getByRole("dialog", { name: "Disconnect An editor?" })
        await Dashboard.expectAccessible(page)
        await dialog.getByLabel("Type An editor to confirm").fill("An editor")
        await dialog.getByRole("button", { name: "Disconnect" }).click()
        await page.getByText("Disconnected An editor.").waitFor()
        await page.getByRole("rowheader", { name: "An editor" }).waitFor({ state: "detached" })
        assert.strictEqual(await statusOf(origin, editor), 401)
        assert.strictEqual(await statusOf(origin, hostile), 200)
      })
    })
  )
})
