import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"

const Package = Schema.Struct({
  version: Schema.optional(Schema.String),
  resolved: Schema.optional(Schema.String),
  integrity: Schema.optional(Schema.String),
  hasInstallScript: Schema.optional(Schema.Boolean),
  optional: Schema.optional(Schema.Boolean),
  devOptional: Schema.optional(Schema.Boolean),
  peerDependencies: Schema.optional(Schema.Record(Schema.String, Schema.String)),
  peerDependenciesMeta: Schema.optional(
    Schema.Record(Schema.String, Schema.Struct({ optional: Schema.optional(Schema.Boolean) }))
  ),
  bin: Schema.optional(Schema.Record(Schema.String, Schema.String))
})

const Lock = Schema.fromJsonString(Schema.Struct({ packages: Schema.Record(Schema.String, Package) }))

const Manifest = Schema.fromJsonString(
  Schema.Struct({
    optionalDependencies: Schema.Record(Schema.String, Schema.String),
    scripts: Schema.Struct({ start: Schema.String })
  })
)

const read = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), "utf8")

/** What an installation brings, without the project itself. */
const packages = Object.entries(Schema.decodeUnknownSync(Lock)(read("package-lock.json")).packages).filter(
  ([path]) => path !== ""
)

/** The folders of `node_modules` in which Node looks for what the package at `path` imports. */
const foldersSeenFrom = (path: string): ReadonlyArray<string> => {
  const above = path.lastIndexOf("node_modules/")
  return above < 0 ? [] : [`${path}/node_modules/`, ...foldersSeenFrom(path.slice(0, Math.max(0, above - 1)))]
}

const installed = new Set(packages.map(([path]) => path))

/** The peers that a package needs and that are not installed where it looks for them. */
const missingPeers = packages.flatMap(([path, { peerDependencies = {}, peerDependenciesMeta = {} }]) =>
  Object.keys(peerDependencies)
    .filter((peer) => peerDependenciesMeta[peer]?.optional !== true)
    .filter((peer) => ![...foldersSeenFrom(path), "node_modules/"].some((folder) => installed.has(folder + peer)))
    .map((peer) => `${path} needs ${peer}`)
)

const pathsOf = (entries: typeof packages) => entries.map(([path]) => path)

describe("package-lock.json", () => {
  it("has the hash of every package, those for other platforms included", () => {
    assert.isAbove(packages.length, 100)
    assert.deepStrictEqual(pathsOf(packages.filter(([, it]) => !it.integrity?.startsWith("sha512-"))), [])
  })

  it("has no package that runs a script when it is installed, which could fetch what has no hash", () => {
    assert.deepStrictEqual(pathsOf(packages.filter(([, it]) => it.hasInstallScript)), [])
  })

  it("has every peer but a Redis client, of a module of platform-node that nothing here imports", () => {
    assert.deepStrictEqual(missingPeers, ["node_modules/@effect/platform-node needs redis"])
  })

  it("has no package of the tests in a production install", () => {
    // npm installs these in production too, because a library may have a use for them.
    assert.deepStrictEqual(pathsOf(packages.filter(([, it]) => it.devOptional)), [])
  })

  it("names no registry, so that a mirror serves as well", () => {
    assert.deepStrictEqual(pathsOf(packages.filter(([, it]) => it.resolved !== undefined)), [])
  })

  it("has one build of Node and one of the bundler for each platform, none of which another platform requires", () => {
    const { optionalDependencies } = Schema.decodeUnknownSync(Manifest)(read("package.json"))
    const isBundler = (path: string) => path.includes("/@esbuild/")
    const builds = packages.filter(([path, it]) => it.bin?.node !== undefined || isBundler(path))
    assert.deepStrictEqual(
      builds.map(([path, { optional, version }]) => [path, version, optional]),
      Object.entries(optionalDependencies).map(([name, version]) => [`node_modules/${name}`, version, true])
    )
    const bundlers = builds.filter(([path]) => isBundler(path))
    assert.isAbove(bundlers.length, 4)
    assert.strictEqual(builds.length, 2 * bundlers.length)
  })
})

describe("npm start", () => {
  /** Windows has no `exec`, and runs the part behind `||`. */
  it("gives Node the same flags as bin/quarry-server", () => {
    const flagsOf = (text: string) => text.split(/\s/).filter((word) => word.startsWith("--"))
    const { scripts } = Schema.decodeUnknownSync(Manifest)(read("package.json"))
    const flags = flagsOf(scripts.start)
    assert.isNotEmpty(flags)
    const [, command = ""] = read("bin/quarry-server").split("exec node ")
    assert.deepStrictEqual(flagsOf(command), flags)
  })
})
