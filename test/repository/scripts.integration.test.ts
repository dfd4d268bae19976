import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const root = fileURLToPath(new URL("../../", import.meta.url))

/** What a script of package.json prints until it has said `text`. */
const said = (script: string, args: ReadonlyArray<string>, text: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const npm = spawn("npm", ["run", "-s", script, "--", ...args], { cwd: root, detached: true })
    let output = ""
    npm.stdout.setEncoding("utf8").on("data", (part: string) => {
      output += part
      if (!output.includes(text)) return
      // The whole group: npm starts a shell, which starts the program.
      process.kill(-(npm.pid ?? 0), "SIGTERM")
      resolve(output)
    })
    npm.once("exit", () => reject(new Error(`ended without saying ${text}: ${output}`)))
  })

describe("the scripts of package.json", () => {
  it("give their arguments to the stand-in of Polar, which prints its port and its webhook", {
    timeout: 60_000
  }, async () => {
    const output = await said("fake-polar", ["--port", "0", "--webhook", "http://127.0.0.1:9/hook"], "npm start")
    const [, port] = /listens at http:\/\/127\.0\.0\.1:(\d+) \(port \1\)/.exec(output) ?? []
    assert.isDefined(port)
    assert.notStrictEqual(port, "8787")
    assert.include(output, "delivers webhooks to http://127.0.0.1:9/hook")
  })
})
