import { sigterm } from "../../../torture/scenarios/sigterm.ts"
import { holds } from "../../support/stores/holds.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(sigterm, 3))
