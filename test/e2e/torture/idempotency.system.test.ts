import { describeWithRedis } from "../../support/servers/RedisServer.ts"
import { holds } from "../../support/stores/holds.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"
import { idempotency } from "../../torture/scenarios/idempotency.ts"

describeWithPostgres("the whole service, broken on purpose", () => {
  describeWithRedis("with idempotency keys", () => holds(idempotency, 3))
})
