import { holds } from "../../support/holds.ts"
import { describeWithPostgres } from "../../support/Postgres.ts"
import { describeWithRedis } from "../../support/RedisServer.ts"
import { redis } from "../../torture/scenarios/redis.ts"

describeWithPostgres("the whole service", () => {
  describeWithRedis("with a Redis server of its own that is broken on purpose", () => holds(redis, 5))
})
