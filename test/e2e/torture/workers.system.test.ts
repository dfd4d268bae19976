import { holds } from "../../support/stores/holds.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"
import { workers } from "../../torture/scenarios/workers.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(workers, 1))
