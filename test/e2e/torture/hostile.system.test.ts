import { hostile } from "../../../torture/scenarios/hostile.ts"
import { holds } from "../../support/stores/holds.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(hostile, 1))
