import { chownSync, existsSync, globSync, statSync } from "node:fs"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { container, describeWithImages, type Image, image } from "../support/processes/Image.ts"
import { freePort, temporaryDirectory } from "../support/processes/Spawned.ts"
import { json, serve } from "../support/servers/UpstreamServer.ts"

/** A build installs the production packages, and the first one on a machine installs Debian. */
const buildTimeout = 1_200_000

class Built extends Context.Service<Built, Image>()("test/Built") {
  static readonly layer = Layer.effect(Built, image)
}

/** An empty volume that belongs to the image's user, as Docker makes it. */
const volumeFor = Effect.fnUntraced(function* ({ config }: Image) {
  const directory = yield* temporaryDirectory
  const [user, group] = config.User.split(":").map(Number)
  chownSync(directory, user ?? 0, group ?? 0)
  return directory
})

const statusOf = (url: string, headers: Record<string, string>) =>
  Effect.promise(async () => (await fetch(url, { headers })).status)

describeWithImages("the image", () => {
  layer(Built.layer, { timeout: buildTimeout, excludeTestServices: true })("built once", (it) => {
    it.effect("has less than 400 MB, and of the packages only what runs", () =>
      Effect.gen(function* () {
        const { bytes, rootfs } = yield* Built
        console.log(`the image has ${Math.round(bytes / 1e6)} MB`)
        assert.isBelow(bytes, 400e6)
        const packages = `${rootfs}/quarry/node_modules`
        for (const name of ["vitest", "typescript", "vite", "pg"])
          assert.isFalse(existsSync(`${packages}/${name}`), name)
        assert.deepStrictEqual(globSync(`${packages}/**/*.{map,d.ts}`), [])
        for (const path of ["test", "bench", ".git", ".env"])
          assert.isFalse(existsSync(`${rootfs}/quarry/${path}`), path)
      })
    )

    it.effect("comes with the code as Node compiles it, which its user reads and nobody but root writes", () =>
      Effect.gen(function* () {
        const { rootfs } = yield* Built
        const files = globSync(`${rootfs}/quarry/node_modules/.cache/quarry/*/*`)
        assert.isAbove(files.length, 500)
        for (const file of files) {
          const { mode, uid } = statSync(file)
          assert.deepStrictEqual([uid, mode & 0o777], [0, 0o644], file)
        }
      })
    )

    it.effect(
      "names a user without privileges by number, its volume, the signal that ends it, and no network for the private listener",
      () =>
        Effect.gen(function* () {
          const { config } = yield* Built
          assert.include(config.Env, "ADMIN_HOST=127.0.0.1")
          assert.match(config.User, /^[1-9]\d+:[1-9]\d+$/)
          assert.deepStrictEqual(Object.keys(config.Volumes), ["/data"])
          assert.strictEqual(config.StopSignal, "SIGTERM")
        })
    )

    it.effect(
      "R54: runs on a read-only root as process 1, is healthy, and at SIGTERM, even twice, answers what it accepted and exits 0",
      () =>
        Effect.gen(function* () {
          const built = yield* Built
          const upstream = yield* serve((received, response) =>
            setTimeout(() => json({ results: [] })(received, response), 3000)
          )
          const port = yield* freePort
          const adminPort = yield* freePort
          const env = {
            HOST: "127.0.0.1",
            PORT: `${port}`,
            // The health check follows it.
            ADMIN_HOST: "127.0.0.2",
            ADMIN_PORT: `${adminPort}`,
            SEARXNG_URL: upstream.url,
            DRAIN_DELAY: "1 second"
          }
          const volume = yield* volumeFor(built)
          const server = yield* container(built, { volume, env })
          const secret = /sk_live_\w+/.exec(yield* server.said("sk_live_"))?.[0]
          const health = { volume, env, command: built.config.Healthcheck.Test.slice(1) }
          const healthy = yield* Effect.flatMap(container(built, health), ({ ended }) => ended)
          assert.strictEqual(healthy.code, 0, healthy.stderr)

          const search = yield* Effect.forkChild(
            statusOf(`http://127.0.0.1:${port}/v1/query?query=css+grid`, { authorization: `Bearer ${secret}` })
          )
          while (upstream.open() === 0) yield* Effect.sleep("20 millis")
          server.signal("SIGTERM")
          while ((yield* statusOf(`http://127.0.0.2:${adminPort}/readyz`, {})) === 200) yield* Effect.sleep("20 millis")
          server.signal("SIGTERM")
          assert.strictEqual(yield* Fiber.join(search), 200)
          const { code, stderr } = yield* server.ended
          assert.strictEqual(code, 0, stderr)
          const unhealthy = yield* Effect.flatMap(container(built, health), ({ ended }) => ended)
          assert.strictEqual(unhealthy.code, 1)
        }),
      buildTimeout
    )

    it.effect("has the operator's commands", () =>
      Effect.gen(function* () {
        const built = yield* Built
        const volume = yield* volumeFor(built)
        const command = ["quarry", "config", "--json"]
        const { code, stderr, stdout } = yield* Effect.flatMap(
          container(built, { volume, env: {}, command }),
          ({ ended }) => ended
        )
        assert.strictEqual(code, 0, stderr)
        assert.include(stdout, "/data")
      })
    )
  })
})
