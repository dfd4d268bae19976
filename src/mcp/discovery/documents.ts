import { resourceOf } from "../../domain/accounts/OAuth.ts"
import { hostOf } from "../../domain/net/Network.ts"
import { version } from "../../domain/version.ts"

export const serverTitle = "Quarry web search"

const description = "Searches the web and reads pages, with links to cite. Signs in by OAuth or takes an API key."

export const discoveryPaths = {
  catalog: "/.well-known/mcp/catalog.json",
  card: "/.well-known/mcp/server-card.json",
  registry: "/.well-known/mcp/server.json",
  icon: "/.well-known/mcp/icon.png"
} as const

export const cardType = "application/mcp-server-card+json"

const serverName = "quarry"

/** The host without characters that a name cannot have, such as those of an IPv6 address. */
const publisherOf = (origin: string): string =>
  hostOf(new URL(origin))
    .replaceAll(/[^a-zA-Z0-9.-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")

const namespaceOf = (origin: string): string => publisherOf(origin).split(".").toReversed().join(".")

export const iconsOf = (origin: string) => [
  { src: `${origin}${discoveryPaths.icon}`, mimeType: "image/png", sizes: ["128x128"] },
  { src: `${origin}/favicon.ico`, mimeType: "image/svg+xml", sizes: ["any"] }
]

const identityOf = (origin: string) => ({
  name: `${namespaceOf(origin)}/${serverName}`,
  title: serverTitle,
  description,
  version,
  websiteUrl: `${origin}/docs`,
  icons: iconsOf(origin)
})

/** The MCP server card (SEP-2127), without tools: programs list those where they connect. */
export const serverCard = (origin: string, revisions: ReadonlyArray<string>) => ({
  $schema: "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json",
  ...identityOf(origin),
  remotes: [{ type: "streamable-http", url: resourceOf(origin), supportedProtocolVersions: revisions }]
})

export const catalog = (origin: string) => ({
  specVersion: "draft",
  entries: [
    {
      identifier: `urn:air:${publisherOf(origin)}:${serverName}`,
      displayName: serverTitle,
      type: cardType,
      url: `${origin}${discoveryPaths.card}`
    }
  ]
})

/** The `server.json` for the MCP registry. OAuth programs need no key, so it is optional. Icons require https. */
export const registryEntry = (origin: string) => {
  const { icons, ...identity } = identityOf(origin)
  return {
    $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    ...identity,
    ...(origin.startsWith("https:") ? { icons } : {}),
    remotes: [
      {
        type: "streamable-http",
        url: resourceOf(origin),
        headers: [
          {
            name: "Authorization",
            description: "Bearer and an API key of this deployment. Leave it out to sign in by OAuth.",
            isRequired: false,
            isSecret: true,
            placeholder: "Bearer sk_live_…"
          }
        ]
      }
    ]
  }
}
