import { holds } from "../../support/holds.ts"
import { describeWithPostgres } from "../../support/Postgres.ts"
import { describeWithRedis } from "../../support/RedisServer.ts"
import { idempotency } from "../../torture/scenarios/idempotency.ts"

describeWithPostgres("the whole service, broken on purpose", () => {
  describeWithRedis("with idempotency keys", () => holds(idempotency, 3))
})
