import { holds } from "../../support/holds.ts"
import { describeWithPostgres } from "../../support/Postgres.ts"
import { sigterm } from "../../torture/scenarios/sigterm.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(sigterm, 3))
