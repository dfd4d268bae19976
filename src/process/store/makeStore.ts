// Run by EmbeddedStore.ts. Creates the embedded database in the directory given as the first argument. The second is the
// value of EMBEDDED_SYNC.
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect } from "effect"
import * as DocumentIndexSql from "../../layers/sql/index/DocumentIndexSql.ts"
import * as NewStore from "../../layers/sql/store/NewStore.ts"
import { isStarterCurrent } from "../../layers/sql/store/templates.ts"
import { codeOf, complain } from "../lifecycle/exit.ts"
import { fill } from "./starterIndex.ts"

const [dataDir = "", sync] = process.argv.slice(2)

const template = isStarterCurrent() ? "starter" : "empty"

NewStore.make({ dataDir, sync: sync !== "off", template }, Effect.provide(fill, DocumentIndexSql.layer)).pipe(
  Effect.provide(NodeServices.layer),
  Effect.tapCause(complain),
  NodeRuntime.runMain({ disableErrorReporting: true, teardown: (exit, end) => end(codeOf(exit)) })
)
