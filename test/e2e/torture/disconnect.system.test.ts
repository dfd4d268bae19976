import { holds } from "../../support/stores/holds.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"
import { disconnect } from "../../torture/scenarios/disconnect.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(disconnect, 2))
