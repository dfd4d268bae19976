import { holds } from "../../support/holds.ts"
import { describeWithPostgres } from "../../support/Postgres.ts"
import { contention } from "../../torture/scenarios/contention.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(contention, 2))
