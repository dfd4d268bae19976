import { holds } from "../../support/holds.ts"
import { describeWithPostgres } from "../../support/Postgres.ts"
import { workers } from "../../torture/scenarios/workers.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(workers, 1))
