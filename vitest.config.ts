import { defineConfig } from "vitest/config"
import LongestFirst from "./test/support/LongestFirst.ts"

const integration = "**/*.integration.test.ts"
const dashboard = "dashboard/**/*.integration.test.ts"
const system = "**/*.system.test.ts"
const dashboardSystem = "dashboard/**/*.system.test.ts"

// Tests that kill, freeze and time real servers get a second try in the gate, where other work can slow them by a factor of
// four. `UnstableTests` lists each test that needed it. Tests in one process are deterministic and get none.
const retry = process.env.CI === "true" ? 1 : 0

// `PROFILE_TESTS=1 npm test` prints where the time goes.
const profiled = process.env.PROFILE_TESTS === "1"

const globalSetup = "./test/support/cleanUp.ts"

const client = `${import.meta.dirname}/clients/typescript/src`

export default defineConfig({
  // The examples import the client by the names that its users have.
  resolve: {
    alias: [
      { find: /^@quarry\/client$/, replacement: `${client}/index.ts` },
      { find: /^@quarry\/client\/ai$/, replacement: `${client}/ai.ts` }
    ]
  },
  test: {
    testTimeout: 240_000,
    hookTimeout: 180_000,
    // Two cores are the machine this must pass on. Two workers more than that, because many tests wait: for a process to
    // start, for a server to come back. Each takes 1 GB at most, of which an embedded database is 400 MB.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // The processes that tests start share their compiled code, which halves the time of a start.
    env: { NODE_COMPILE_CACHE: `${import.meta.dirname}/node_modules/.cache/quarry-tests` },
    // What the service logs matters only where a test fails.
    silent: "passed-only",
    // Every test is in one of them. `npm test` runs all but the last two, and `npm run test:all`, which the gate runs, all.
    projects: [
      {
        extends: true,
        test: {
          name: "in-process",
          include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
          exclude: [integration, system],
          // A worker keeps what it has loaded for its next file: loading takes longer than most of these tests.
          isolate: false
        }
      },
      {
        extends: true,
        test: {
          name: "integration",
          include: [`test/${integration}`],
          exclude: [`test/${dashboard}`],
          globalSetup,
          retry,
          // A worker of its own took 1.7 s of CPU time more for each file.
          isolate: false
        }
      },
      {
        extends: true,
        test: {
          name: "dashboard",
          include: [`test/${dashboard}`],
          globalSetup,
          retry,
          // A worker's browser and service, which it keeps with its modules, serve all of its files.
          isolate: false
        }
      },
      // The other pages of the dashboard, with a shared browser and service too.
      {
        extends: true,
        test: { name: "dashboard-system", include: [`test/${dashboardSystem}`], globalSetup, retry, isolate: false }
      },
      // They need other programs, build the image, break a deployment under load, or measure it, which takes minutes.
      {
        extends: true,
        test: {
          name: "system",
          include: [`test/${system}`],
          exclude: [`test/${dashboardSystem}`],
          globalSetup,
          retry
        }
      }
    ],
    setupFiles: profiled ? ["./test/support/profile/use.ts"] : [],
    reporters: [
      "default",
      "./test/support/MissingServices.ts",
      "./test/support/UnstableTests.ts",
      ...(profiled ? ["./test/support/profile/Profile.ts"] : [])
    ]
  }
})
