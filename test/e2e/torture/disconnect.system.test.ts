import { holds } from "../../support/holds.ts"
import { describeWithPostgres } from "../../support/Postgres.ts"
import { disconnect } from "../../torture/scenarios/disconnect.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(disconnect, 2))
