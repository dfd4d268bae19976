import { registerHooks } from "node:module"

/**
 * Preloaded by generators that use the compiler's API: gives them TypeScript 5, because TypeScript 7 has a different
 * API.
 */
registerHooks({
  resolve: (specifier, context, next) => next(specifier === "typescript" ? "typescript5" : specifier, context)
})
