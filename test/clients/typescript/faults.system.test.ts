import { holds } from "../../support/holds.ts"
import { describeWithPostgres } from "../../support/Postgres.ts"
import { typescript } from "../../torture/scenarios/typescript.ts"

describeWithPostgres("R44: the TypeScript client over a network that breaks, with a server that is killed", () =>
  holds(typescript, 1)
)
