import { temporary } from "../../../torture/scenarios/temporary.ts"
import { describeWithServers } from "../../support/servers/PostgresServer.ts"
import { describeWithRedis } from "../../support/servers/RedisServer.ts"
import { holds } from "../../support/stores/holds.ts"

describeWithServers("the whole service", () => {
  describeWithRedis("with a Postgres and a Redis of its own that are changed on purpose", () => holds(temporary, 4))
})
