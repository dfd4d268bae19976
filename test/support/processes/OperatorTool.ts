import { spawnSync } from "node:child_process"
import { describe } from "@effect/vitest"

export interface OperatorTool {
  /** A group of tests that use the tool. If it is missing, it is skipped with a message. */
  readonly describe: (name: string, tests: () => void) => void
  /** The tool's complaints about its input. Empty if there are none. */
  readonly complaints: (args: ReadonlyArray<string>, input?: string) => string
  readonly output: (args: ReadonlyArray<string>) => string
}

/** A program from a Debian package that checks what we ship for operators. Running it with `trial` has no effect. */
const operatorTool = (command: string, debianPackage: string, ...trial: ReadonlyArray<string>): OperatorTool => {
  const remedy = `no ${command} on the PATH: apt-get install ${debianPackage}`
  const installed = spawnSync(command, trial).status === 0
  if (!installed && process.env.QUARRY_REQUIRE_SERVICES === "1") {
    throw new Error(`QUARRY_REQUIRE_SERVICES=1, but there is ${remedy}`)
  }
  return {
    describe: (name, tests) => describe.skipIf(!installed)(installed ? name : `${name} (${remedy})`, tests),
    complaints: (args, input = "") => {
      const { status, stderr, stdout } = spawnSync(command, args, { input, encoding: "utf8" })
      return status === 0 ? "" : `${stdout}${stderr}`.trim()
    },
    output: (args) => spawnSync(command, args, { encoding: "utf8" }).stdout
  }
}

export const promtool = operatorTool("promtool", "prometheus", "--version")

export const alertmanagerTool = operatorTool("amtool", "prometheus-alertmanager", "--version")

export const compose = operatorTool("docker-compose", "docker-compose", "--version")

export const kubectl = operatorTool("kubectl", "kubernetes-client", "version", "--client")

export const systemdAnalyze = operatorTool("systemd-analyze", "systemd", "--version")

export const nginx = operatorTool("nginx", "nginx-light", "-v")

export const haproxy = operatorTool("haproxy", "haproxy", "-v")

export const caddy = operatorTool("caddy", "caddy", "version")
