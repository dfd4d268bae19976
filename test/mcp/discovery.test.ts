import { assert, describe, it } from "@effect/vitest"
import { Ajv } from "ajv"
import { Effect } from "effect"
import { catalog, registryEntry, serverCard } from "../../src/mcp/discovery/documents.ts"
import { revisions } from "../../src/mcp/revisions.ts"
import { currentRequest, post } from "../support/api/Mcp.ts"
import { aCaller, found, providing, services } from "../support/api/Services.ts"
import * as TestApi from "../support/api/TestApi.ts"

const layer = services(providing(() => Effect.succeed(found(1))))

/** The members that the published schemas of the card and the registry require, with their bounds. */
const identity = {
  name: { type: "string", pattern: "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", minLength: 3, maxLength: 200 },
  title: { type: "string", minLength: 1, maxLength: 100 },
  description: { type: "string", minLength: 1, maxLength: 100 },
  version: { type: "string", maxLength: 255 },
  websiteUrl: { type: "string" },
  icons: {
    type: "array",
    items: {
      type: "object",
      required: ["src"],
      additionalProperties: false,
      properties: {
        src: { type: "string", maxLength: 255 },
        mimeType: { enum: ["image/png", "image/jpeg", "image/jpg", "image/svg+xml", "image/webp"] },
        sizes: { type: "array", items: { type: "string", pattern: "^(\\d+x\\d+|any)$" } }
      }
    }
  }
}

const remote = {
  type: "object",
  required: ["type", "url"],
  additionalProperties: false,
  properties: { type: { const: "streamable-http" }, url: { type: "string", pattern: "^https?://[^\\s]+$" } }
}

const documentSchema = (schemaUrl: string, remoteMembers: object) => ({
  type: "object",
  required: ["$schema", "name", "description", "version", "remotes"],
  additionalProperties: false,
  properties: {
    $schema: { const: schemaUrl },
    ...identity,
    remotes: {
      type: "array",
      minItems: 1,
      items: { ...remote, properties: { ...remote.properties, ...remoteMembers } }
    }
  }
})

const isCard = new Ajv().compile(
  documentSchema("https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json", {
    supportedProtocolVersions: { type: "array", items: { type: "string" } }
  })
)

const isRegistryEntry = new Ajv().compile(
  documentSchema("https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json", {
    headers: {
      type: "array",
      items: {
        type: "object",
        required: ["name"],
        additionalProperties: false,
        properties: {
          name: { type: "string" },
          description: { type: "string" },
          isRequired: { type: "boolean" },
          isSecret: { type: "boolean" },
          placeholder: { type: "string" }
        }
      }
    }
  })
)

describe("the documents by which programs find the MCP endpoint", () => {
  it("have the form of their published schemas at any address of the deployment", () => {
    for (const [origin, name] of [
      ["https://quarry.example.org", "org.example.quarry/quarry"],
      ["http://localhost:3000", "localhost/quarry"],
      ["http://127.0.0.1:3000", "1.0.0.127/quarry"],
      ["http://[::1]:3000", "1/quarry"],
      ["https://xn--bcher-kva.example", "example.xn--bcher-kva/quarry"]
    ] as const) {
      const card = serverCard(origin, revisions)
      assert.isTrue(isCard(card), JSON.stringify(isCard.errors))
      const entry = registryEntry(origin)
      assert.isTrue(isRegistryEntry(entry), JSON.stringify(isRegistryEntry.errors))
      assert.deepStrictEqual([card.name, entry.name], [name, name])
      assert.strictEqual("icons" in entry, origin.startsWith("https:"), "the registry takes icons over https only")
    }
    assert.strictEqual(
      catalog("https://quarry.example.org").entries[0]?.identifier,
      "urn:air:quarry.example.org:quarry"
    )
  })

  it.effect("lead from the catalog to the card, to the endpoint and to icons, for every page and without a key", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const read = Effect.fnUntraced(function* (address: string) {
        const answer = yield* api.get(new URL(address).pathname)
        assert.strictEqual(answer.status, 200, address)
        return answer
      })
      const list = yield* read("http://quarry.test/.well-known/mcp/catalog.json")
      const [entry] = list.json.entries
      const card = yield* read(entry.url)
      assert.strictEqual(card.headers.get("content-type"), entry.type)
      assert.strictEqual(card.json.remotes[0].url, "http://quarry.test/mcp")
      assert.deepStrictEqual(card.json.remotes[0].supportedProtocolVersions, [...revisions])
      for (const { mimeType, src } of card.json.icons) {
        assert.strictEqual((yield* read(src)).headers.get("content-type"), mimeType)
      }
      const registry = yield* read("http://quarry.test/.well-known/mcp/server.json")
      for (const { headers } of [list, card, registry]) {
        assert.strictEqual(headers.get("access-control-allow-origin"), "*")
        assert.strictEqual(headers.get("cache-control"), "public, max-age=3600")
      }
    }).pipe(Effect.provide(layer))
  )

  it.effect("say what the endpoint says of itself", () =>
    Effect.gen(function* () {
      const api = yield* TestApi.make
      const { auth } = yield* aCaller({ plan: "trial" })
      const { body, headers } = currentRequest("server/discover")
      const { result } = (yield* post(api, { ...auth, ...headers }, body)).json
      const server = result._meta["io.modelcontextprotocol/serverInfo"]
      const card = (yield* api.get("/.well-known/mcp/server-card.json")).json
      for (const member of ["title", "version", "websiteUrl", "icons"]) {
        assert.deepStrictEqual(server[member], card[member], member)
      }
    }).pipe(Effect.provide(layer))
  )
})
