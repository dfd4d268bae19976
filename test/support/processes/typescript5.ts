import { registerHooks } from "node:module"

/**
 * Preloaded by generators that build on the compiler's API: they get TypeScript 5, because TypeScript 7, which checks
 * this code, has another one.
 */
registerHooks({
  resolve: (specifier, context, next) => next(specifier === "typescript" ? "typescript5" : specifier, context)
})
