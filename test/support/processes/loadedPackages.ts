import { registerHooks } from "node:module"

/*
 * Preloaded by a process. When the process ends, prints to stderr which OpenTelemetry packages it has loaded, including
 * those for Effect.
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
