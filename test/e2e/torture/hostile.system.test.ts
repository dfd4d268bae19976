import { holds } from "../../support/holds.ts"
import { describeWithPostgres } from "../../support/Postgres.ts"
import { hostile } from "../../torture/scenarios/hostile.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(hostile, 1))
