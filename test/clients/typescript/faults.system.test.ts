import { typescript } from "../../../torture/scenarios/typescript.ts"
import { holds } from "../../support/stores/holds.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

describeWithPostgres("R44: the TypeScript client over a network that breaks, with a server that is killed", () =>
  holds(typescript, 1)
)
