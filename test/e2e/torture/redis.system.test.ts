import { redis } from "../../../torture/scenarios/redis.ts"
import { describeWithRedis } from "../../support/servers/RedisServer.ts"
import { holds } from "../../support/stores/holds.ts"
import { describeWithPostgres } from "../../support/stores/Postgres.ts"

describeWithPostgres("the whole service", () => {
  describeWithRedis("with a Redis server of its own that is broken on purpose", () => holds(redis, 5))
})
