import { postgres } from "../../../torture/scenarios/postgres.ts"
import { describeWithServers } from "../../support/servers/PostgresServer.ts"
import { holds } from "../../support/stores/holds.ts"

describeWithServers("the whole service, with a Postgres server of its own that is broken on purpose", () =>
  holds(postgres, 4)
)
