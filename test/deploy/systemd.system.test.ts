import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { freePort } from "../support/processes/Spawned.ts"
import { describeWithSystemd, systemd } from "../support/processes/Systemd.ts"
import { json, serve } from "../support/servers/UpstreamServer.ts"

const timeout = 240_000

/** Its output goes to a file, in the place of the journal. */
const install = (env: Readonly<Record<string, string>>): string => `
cp /opt/quarry/deploy/systemd/quarry@.service /etc/systemd/system/
mkdir /etc/systemd/system/quarry@.service.d
printf '[Service]\\nStandardOutput=file:/run/quarry.log\\n' > /etc/systemd/system/quarry@.service.d/log.conf
cat > /etc/quarry/quarry.env << EOF
${Object.entries(env)
  .map(([name, value]) => `${name}=${value}`)
  .join("\n")}
EOF
systemctl daemon-reload
systemctl start quarry@1
`

describeWithSystemd("the shipped unit under systemd", () => {
  it.live(
    "starts a replica without privileges, waits until it listens, and at a stop answers what it accepted and ends with success",
    () =>
      Effect.gen(function* () {
        const { run } = yield* systemd
        const upstream = yield* serve((received, response) =>
          setTimeout(() => json({ results: [] })(received, response), 3000)
        )
        const port = yield* freePort
        const env = {
          PORT: `${port}`,
          ADMIN_PORT: `${yield* freePort}`,
          SEARXNG_URL: upstream.url,
          DRAIN_DELAY: "1 second",
          LOG_FORMAT: "json"
        }
        run("sh", "-c", install(env))
        // `systemctl start` returns when the replica has said that it listens.
        const me = yield* Effect.promise(() => fetch(`http://127.0.0.1:${port}/v1/me`))
        assert.strictEqual(me.status, 401)
        const log = () => run("cat", "/run/quarry.log")
        while (!log().includes("sk_live_")) yield* Effect.sleep("200 millis")
        const show = (property: string) => run("systemctl", "show", "quarry@1", "--value", "-p", property).trim()

        const pid = run("cat", `/proc/${show("MainPID")}/status`)
        assert.notMatch(pid, /^Uid:\s+0\b/m)
        assert.match(pid, /^CapEff:\s+0+$/m)
        assert.match(pid, /^NoNewPrivs:\s+1$/m)
        assert.match(pid, /^Seccomp:\s+2$/m)

        const authorization = `Bearer ${/sk_live_\w+/.exec(log())?.[0]}`
        const search = yield* Effect.forkChild(
          Effect.promise(async () => {
            const response = await fetch(`http://127.0.0.1:${port}/v1/query?query=css`, { headers: { authorization } })
            return response.status
          })
        )
        while (upstream.open() === 0) yield* Effect.sleep("20 millis")
        run("systemctl", "stop", "--no-block", "quarry@1")
        assert.strictEqual(yield* Fiber.join(search), 200)
        while (show("ActiveState") !== "inactive") yield* Effect.sleep("100 millis")
        assert.strictEqual(show("Result"), "success")
        assert.strictEqual(show("ExecMainStatus"), "0")
      }),
    timeout
  )
})
