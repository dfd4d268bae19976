import { holds } from "../../support/holds.ts"
import { describeWithPostgres } from "../../support/Postgres.ts"
import { requests } from "../../torture/scenarios/requests.ts"

describeWithPostgres("the whole service, broken on purpose", () => holds(requests, 2))
