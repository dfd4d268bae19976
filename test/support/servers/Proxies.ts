import { execFileSync, spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect } from "effect"
import { caddy, haproxy, nginx, type OperatorTool } from "../processes/OperatorTool.ts"
import { freePort, temporaryDirectory } from "../processes/Spawned.ts"

const shipped = (path: string): string => readFileSync(new URL(`../../../deploy/${path}`, import.meta.url), "utf8")

/** Ports of the three replicas. The shipped files have Quarry's default ports. */
export interface Ports {
  readonly public: number
  readonly admin: number
}

interface Stage extends Ports {
  readonly https: number
  readonly http: number
  readonly directory: string
}

interface Program {
  readonly name: string
  readonly tool: OperatorTool
  readonly file: string
  /** Adapts the shipped file to run without root and a domain, with the test's ports, certificate and paths. */
  readonly adapt: (text: string, stage: Stage) => string
  readonly command: (file: string, stage: Stage) => ReadonlyArray<string>
  /** Timeouts in seconds: for a replica's response, and for idle connections to a replica. */
  readonly waits: (text: string) => { readonly answer: number; readonly idle: number }
}

const toReplicas = (text: string, ports: Ports): string =>
  text.replaceAll(":3000", `:${ports.public}`).replaceAll("9464", `${ports.admin}`)

const seconds = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1])

const nginxPaths = (directory: string): string =>
  ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `    ${name}_temp_path ${directory}/${name};\n`)
    .join("")

const caddyFrame = (directory: string): string => `{
	admin off
	auto_https off
	storage file_system ${directory}
`

export const programs: ReadonlyArray<Program> = [
  {
    name: "nginx",
    tool: nginx,
    file: "nginx/nginx.conf",
    adapt: (text, { directory, http, https, ...ports }) =>
      toReplicas(text, ports)
        .replaceAll(/^\s*listen \[::\].*$/gm, "")
        .replace("listen 80;", `listen 127.0.0.1:${http};`)
        .replace("listen 443 ", `listen 127.0.0.1:${https} `)
        .replaceAll("/etc/ssl/quarry", directory)
        .replaceAll(/\/(?:var\/log\/nginx|run)\//g, `${directory}/`)
        .replace("user www-data;", process.getuid?.() === 0 ? "user root;" : "")
        .replace("http {\n", `http {\n${nginxPaths(directory)}`),
    command: (file, { directory }) => ["nginx", "-p", directory, "-c", file, "-g", "daemon off;"],
    waits: (text) => ({
      answer: seconds(text, /proxy_read_timeout (\d+)s;/),
      idle: seconds(text, /keepalive_timeout (\d+)s;/)
    })
  },
  {
    name: "haproxy",
    tool: haproxy,
    file: "haproxy/haproxy.cfg",
    adapt: (text, { directory, http, https, ...ports }) =>
      toReplicas(text, ports)
        .replace("bind :80", `bind 127.0.0.1:${http}`)
        .replace("bind :443", `bind 127.0.0.1:${https}`)
        .replaceAll("/etc/ssl/quarry", directory),
    command: (file) => ["haproxy", "-db", "-f", file],
    waits: (text) => ({
      answer: seconds(text, /timeout server (\d+)s/),
      idle: seconds(text, /timeout http-keep-alive (\d+)s/)
    })
  },
  {
    name: "caddy",
    tool: caddy,
    file: "caddy/Caddyfile",
    adapt: (text, { directory, https, ...ports }) =>
      toReplicas(text, ports)
        .replace(/^\{\n/m, caddyFrame(directory))
        .replace(
          "search.example.com} {",
          `https://localhost:${https}} {\n\ttls ${directory}/fullchain.pem ${directory}/privkey.pem`
        ),
    command: (file) => ["caddy", "run", "--adapter", "caddyfile", "--config", file],
    waits: (text) => ({
      answer: seconds(text, /response_header_timeout (\d+)s/),
      idle: seconds(text, /keepalive (\d+)s/)
    })
  }
]

export const waitsOf = ({ file, waits }: Program) => waits(shipped(file))

const makeCertificate = (directory: string): void => {
  const files = ["-keyout", join(directory, "privkey.pem"), "-out", join(directory, "fullchain.pem")]
  const name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...files, ...name], {
    stdio: "ignore"
  })
  const both = ["fullchain.pem", "privkey.pem"].map((file) => readFileSync(join(directory, file), "utf8"))
  writeFileSync(join(directory, "fullchain-and-key.pem"), both.join(""))
}

const listens = async (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy()
      resolve(true)
    }).on("error", () => resolve(false))
  })

/** Runs the shipped configuration with TLS in front of replicas with these ports. Returns its port. */
export const proxy = Effect.fnUntraced(function* ({ adapt, command, file, name }: Program, ports: Ports) {
  const directory = yield* temporaryDirectory
  makeCertificate(directory)
  const stage = { ...ports, directory, http: yield* freePort, https: yield* freePort }
  const path = join(directory, "adapted")
  writeFileSync(path, adapt(shipped(file), stage))
  const [program = "", ...args] = command(path, stage)
  const said: Array<string> = []
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] })
      for (const output of [child.stdout, child.stderr]) output.on("data", (text) => said.push(String(text)))
      return child
    }),
    (child) => Effect.sync(() => child.kill("SIGTERM"))
  )
  yield* Effect.promise(async () => {
    while (!(await listens(stage.https))) {
      if (child.exitCode !== null) throw new Error(`${name} ended: ${said.join("")}`)
      await sleep(50)
    }
  })
  return stage.https
})
