import { registerHooks } from "node:module"

/*
 * Imported by a process before its own program: says on stderr, as the process ends, which packages of OpenTelemetry it
 * has loaded, those for Effect included.
 */

const loaded = new Set<string>()

registerHooks({
  load: (url, context, nextLoad) => {
    const [, name] = /node_modules\/(@opentelemetry\/[^/]+|@effect\/opentelemetry)\//.exec(url) ?? []
    if (name !== undefined) loaded.add(name)
    return nextLoad(url, context)
  }
})

process.on("exit", () => console.error(`loaded: ${[...loaded].join(" ")}`))
