import { holds } from "../../support/holds.ts"
import { describeWithPostgres } from "../../support/Postgres.ts"
import { kill } from "../../torture/scenarios/kill.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(kill, 4))
