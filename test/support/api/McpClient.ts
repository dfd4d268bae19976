import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Effect } from "effect"

/**
 * The protocol's own client with a key, connected until the scope closes. With several addresses, it uses them in turn.
 */
export const connected = (secret: string, ...addresses: readonly [string, ...ReadonlyArray<string>]) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new Client({ name: "test", version: "1" })
      let sent = 0
      const transport = new StreamableHTTPClientTransport(new URL("/mcp", addresses[0]), {
        requestInit: { headers: { authorization: `Bearer ${secret}` } },
        fetch: (url, init) => fetch(new URL(new URL(url).pathname, addresses[sent++ % addresses.length]), init)
      })
      // The transport declares optional members in a way that `exactOptionalPropertyTypes` rejects.
      await client.connect(transport as Parameters<Client["connect"]>[0])
      return { client }
    }),
    ({ client }) => Effect.promise(() => client.close())
  )

export interface Called {
  readonly isError?: boolean
  readonly content: ReadonlyArray<{ readonly text: string }>
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into answers of every shape and asserts what it finds.
  readonly structuredContent?: any
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  readonly _meta?: any
}

export const call = (client: Client, name: string, args: Record<string, unknown> = {}) =>
  Effect.promise(async () => (await client.callTool({ name, arguments: args })) as Called)

/** The status with which a call was rejected. */
export const refusedCall = (client: Client, name: string) =>
  Effect.promise(() =>
    client.callTool({ name, arguments: {} }).then(
      () => undefined,
      (error: { readonly code?: number }) => error.code
    )
  )
