import { idempotency } from "../../../torture/scenarios/idempotency.ts"
import { describeWithRedis } from "../../support/servers/RedisServer.ts"
import { holds } from "../../support/stores/holds.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

describeWithPostgres("the whole service, broken on purpose", () => {
  describeWithRedis("with idempotency keys", () => holds(idempotency, 3))
})
