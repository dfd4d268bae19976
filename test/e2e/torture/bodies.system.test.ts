import { bodies } from "../../../torture/scenarios/bodies.ts"
import { holds } from "../../support/stores/holds.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(bodies, 1))
