import { defineConfig } from "vitest/config"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Two cores are the machine this must pass on, and every embedded database takes 400 MB.
    maxWorkers: 2,
    // What the service logs matters only where a test fails.
    silent: "passed-only",
    reporters: ["default", "./test/support/MissingServices.ts"]
  }
})
